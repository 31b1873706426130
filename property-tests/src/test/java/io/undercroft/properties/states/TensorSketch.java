package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;

/// Which tensor a [TensorMaker] makes. Numbers are reduced to what is possible, by their remainder: a dimension is one
/// of those that there are, and a stride no longer than the storage has space for. So a sketch has a meaning wherever
/// it is used.
public sealed interface TensorSketch {
    /// All of a storage of its own.
    ///
    /// @param dtype the type of its elements
    /// @param sizes its shape
    /// @param fill what its bytes are, see [TensorMaker#fill]
    /// @param flags those that it gets, as far as its type can have them
    record Whole(DType dtype, List<Integer> sizes, int fill, Set<Tensor.Flag> flags) implements TensorSketch {}

    /// Any geometry inside of a storage: gaps, overlaps, repeated elements.
    ///
    /// @param storage the storage
    /// @param dtype the type of its elements
    /// @param offset its offset
    /// @param sizes its shape
    /// @param strides its strides, as many as sizes or more
    record Strided(StorageSketch storage, DType dtype, int offset, List<Integer> sizes, List<Integer> strides)
            implements
                TensorSketch {}

    /// A view of a tensor that was made before.
    ///
    /// @param of the number of that tensor
    /// @param way how it is viewed
    /// @param first usually the dimension
    /// @param second another dimension, an index, or a start
    /// @param third a size
    record View(int of, Way way, int first, int second, int third) implements TensorSketch {}

    /// A tensor that was made before.
    ///
    /// @param which its number
    record Again(int which) implements TensorSketch {}

    /// How a tensor is viewed.
    enum Way {
        NARROW, TRANSPOSE, PERMUTE, SELECT, EXPAND, FLAG, RESTRIDE
    }

    /// The flags of tensors, in the order of the bits that stand for them.
    List<Tensor.Flag> FLAGS = List.of(Tensor.Flag.values());
    /// A type that the library does not know.
    DType UNKNOWN = DType.opaque("float6_e3m2", 6);

    /// {@return tensors of all kinds}
    static Arbitrary<TensorSketch> any() {
        Arbitrary<DType> dtypes = Arbitraries.frequencyOf(Tuple.of(15, Arbitraries.of(DType.values())),
                Tuple.of(1, Arbitraries.just(UNKNOWN)));
        Arbitrary<List<Integer>> sizes = Arbitraries.integers().between(0, 5).list().ofMaxSize(4);
        Arbitrary<List<Integer>> strides = StorageSketch.numbers().list().ofSize(4);
        Arbitrary<Set<Tensor.Flag>> flags = Arbitraries.frequencyOf(Tuple.of(1, Arbitraries.just(Set.of())),
                Tuple.of(1, Arbitraries.subsetOf(Tensor.Flag.values())));
        Arbitrary<Integer> numbers = StorageSketch.numbers();
        Arbitrary<TensorSketch> whole = Combinators.combine(dtypes, sizes, StorageSketch.fills(), flags)
                .as(Whole::new);
        Arbitrary<TensorSketch> strided = Combinators.combine(StorageSketch.any(), dtypes, numbers, sizes, strides)
                .as(Strided::new);
        Arbitrary<TensorSketch> view = Combinators.combine(numbers, Arbitraries.of(Way.values()), numbers, numbers,
                numbers).as(View::new);
        return Arbitraries.frequencyOf(Tuple.of(3, whole), Tuple.of(3, strided),
                Tuple.of(1, numbers.map(Again::new)), Tuple.of(5, view));
    }

    /// {@return a tensor with bytes, chosen by the maker of another kind of states}
    ///
    /// @param choices the choices
    /// @param isFirst whether there is no tensor yet that could be viewed
    /// @param dtypes the types that it may have
    /// @param flags the flags that it may have
    static TensorSketch of(Choices choices, boolean isFirst, List<DType> dtypes, Set<Tensor.Flag> flags) {
        return switch (choices.below(isFirst ? 3 : 12)) {
            case 0 -> new Whole(choices.of(dtypes), sizes(choices), choices.below(TensorMaker.FILLS), Set.of());
            case 1 -> strided(choices, StorageSketch.of(choices), dtypes);
            case 2 -> new Whole(choices.of(dtypes), sizes(choices), choices.below(TensorMaker.FILLS),
                    subset(choices, flags));
            case 3 -> new Again(choices.below(1000));
            case 4 -> strided(choices, new StorageSketch.Known(choices.below(1000)), dtypes);
            default -> {
                Way way = choices.of(List.of(Way.values()));
                yield new View(choices.below(1000), way, choices.below(1000), choices.below(1000),
                        way == Way.FLAG ? mask(subset(choices, flags)) : choices.below(1000));
            }
        };
    }

    /// {@return the number that stands for flags in a [View]}
    private static int mask(Set<Tensor.Flag> flags) {
        return flags.stream().mapToInt(flag -> 1 << FLAGS.indexOf(flag)).sum();
    }

    private static Strided strided(Choices choices, StorageSketch storage, List<DType> dtypes) {
        return new Strided(storage, choices.of(dtypes), choices.below(1 << 20), sizes(choices),
                Stream.generate(() -> choices.below(1 << 20)).limit(4).toList());
    }

    private static List<Integer> sizes(Choices choices) {
        return Stream.generate(() -> choices.below(6)).limit(choices.below(5)).toList();
    }

    private static Set<Tensor.Flag> subset(Choices choices, Set<Tensor.Flag> flags) {
        Set<Tensor.Flag> chosen = EnumSet.noneOf(Tensor.Flag.class);
        for (Tensor.Flag flag : flags) {
            if (choices.yes()) {
                chosen.add(flag);
            }
        }
        return chosen;
    }
}
