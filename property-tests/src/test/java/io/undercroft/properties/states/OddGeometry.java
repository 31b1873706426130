package io.undercroft.properties.states;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;

/// A state of tensors whose geometry is at the limits of what a tensor may have: no elements and any offset, one
/// element repeated any number of times, any stride in dimensions of size 1, as many dimensions as there may be,
/// elements that end where the storage ends, storages without bytes, storages that are no whole number of elements.
///
/// @param tensors what they are; a usual one follows
public record OddGeometry(List<Odd> tensors) implements Sketch {
    /// The name of the one usual tensor of every state.
    public static final String USUAL = "usual";
    /// What the others are called, and a number.
    public static final String ODD = "odd";

    private static final List<Long> NUMBERS = List.of(0L, 1L, 2L, 3L, 7L, 1L << 31, (1L << 32) + 1, (1L << 53) + 1,
            1L << 58, (1L << 58) + 3, (1L << 59) - 1, 1L << 60, 1L << 61, (1L << 61) + 1, 1L << 62, Long.MAX_VALUE - 1,
            Long.MAX_VALUE);
    /// Nothing between a mebibyte and what no test can write.
    private static final List<Long> REPEATS = List.of(1L, 2L, 1L << 10, 1L << 45, 1L << 50, 1L << 59, 1L << 62,
            Long.MAX_VALUE);
    private static final List<DType> ODD_TYPES = List.of(DType.FLOAT32, DType.UINT8, DType.BOOL, DType.INT64,
            DType.COMPLEX128, DType.FLOAT16, DType.opaque("gguf:Q4_0", 144), DType.opaque("float6_e3m2", 6),
            DType.opaque("bits12", 12),
            DType.opaque("block", 144), DType.FLOAT4_E2M1FN_X2, DType.FLOAT8_E4M3FN);
    private static final int MOST_TENSORS = 5;

    /// What is odd about a tensor.
    enum Way {
        EMPTY, REPEATED, LAST_ELEMENT, WHOLE, MANY_DIMENSIONS, ON_META, EMPTY_VECTOR, EMPTY_ON_META
    }

    /// One tensor.
    ///
    /// @param way what is odd about it
    /// @param dtype the type of its elements
    /// @param nbytes the size of its new storage, or -1 for the storage of a tensor before it
    /// @param rank how many dimensions it has, if any number is possible
    /// @param at which dimension, element or storage is meant; the remainder counts
    /// @param numbers its sizes and strides, again from the first one after the last
    /// @param repeats how often an element is repeated
    /// @param requiresGrad whether it has a flag
    record Odd(Way way, DType dtype, int nbytes, int rank, int at, List<Long> numbers, long repeats,
            boolean requiresGrad) {}

    /// {@return all of them}
    public static Arbitrary<OddGeometry> any() {
        Arbitrary<Integer> ranks = Arbitraries.frequencyOf(Tuple.of(6, Arbitraries.integers().between(1, 3)),
                Tuple.of(1, Arbitraries.integers().between(1, 9)), Tuple.of(1, Arbitraries.just(Shape.MAX_RANK)));
        Arbitrary<Integer> sizes = Arbitraries.frequencyOf(Tuple.of(1, Arbitraries.just(-1)),
                Tuple.of(1, Arbitraries.of(0, 1, 3, 8, 10, 64, 100)));
        Arbitrary<Odd> odd = Combinators.combine(Arbitraries.of(Way.values()), Arbitraries.of(ODD_TYPES), sizes, ranks,
                StorageSketch.numbers(), Arbitraries.of(NUMBERS).list().ofSize(20), Arbitraries.of(REPEATS),
                Arbitraries.frequency(Tuple.of(7, false), Tuple.of(1, true))).as(Odd::new);
        return odd.list().ofMinSize(1).ofMaxSize(MOST_TENSORS).map(OddGeometry::new).withoutEdgeCases();
    }

    /// {@return tensors by name, the last of which is as usual}
    @Override
    public SequencedMap<String, Tensor> make() {
        return new Maker().make(tensors);
    }

    /// {@return a Java program that makes the state, as statements the last of which declares `state`}
    @Override
    public String toString() {
        Maker maker = new Maker();
        maker.make(tensors);
        return maker.program.toString();
    }

    private static final class Maker {
        private final Program program = new Program();
        private final List<Storage> storages = new ArrayList<>();

        SequencedMap<String, Tensor> make(List<Odd> tensors) {
            SequencedMap<String, Tensor> state = program.declare("m", new LinkedHashMap<>(),
                    "new LinkedHashMap<String, Tensor>()");
            for (int i = 0; i < tensors.size(); i++) {
                Tensor tensor = tensor(tensors.get(i));
                state.put(ODD + i, tensor);
                program.line("m0.put(\"" + ODD + i + "\", " + program.use(tensor) + ")");
            }
            state.put(USUAL, Tensor.of(1f, 2f));
            program.line("m0.put(\"" + USUAL + "\", Tensor.of(1f, 2f))");
            program.line("Object state = m0");
            return state;
        }

        private Tensor tensor(Odd odd) {
            Tensor tensor = switch (odd.way) {
                case EMPTY -> empty(storage(odd), odd);
                case REPEATED -> repeated(storage(odd), odd);
                case LAST_ELEMENT -> atTheEnd(storage(odd), odd);
                case WHOLE -> whole(storage(odd), odd);
                case MANY_DIMENSIONS -> ofManyDimensions(storage(odd), odd);
                case ON_META -> onMeta(odd);
                case EMPTY_VECTOR -> tensor(storage(odd), odd, number(odd, 0), new long[]{0}, number(odd, 1));
                case EMPTY_ON_META -> empty(meta(number(odd, 0)), odd);
            };
            return odd.requiresGrad
                    ? program.declare("t", tensor.withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)),
                            program.use(tensor) + ".withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD))")
                    : tensor;
        }

        private Tensor tensor(Storage storage, Odd odd, long offset, long[] sizes, long... strides) {
            return program.declare("t", Tensor.of(storage, odd.dtype, offset, Shape.of(sizes), strides),
                    "Tensor.of(" + program.use(storage) + ", " + JavaSource.of(odd.dtype) + ", "
                            + JavaSource.numbers(offset) + ", " + JavaSource.of(Shape.of(sizes)) + ", new long[]{"
                            + JavaSource.numbers(strides) + "})");
        }

        private Storage storage(Odd odd) {
            if (!storages.isEmpty() && odd.nbytes < 0) {
                return storages.get(odd.at % storages.size());
            }
            int nbytes = Math.max(odd.nbytes, 0);
            storages.add(program.declare("s", Storage.allocate(nbytes), "Storage.allocate(" + nbytes + ")"));
            return storages.getLast();
        }

        private Storage meta(long nbytes) {
            return program.declare("s", Storage.meta(nbytes), "Storage.meta(" + JavaSource.numbers(nbytes) + ")");
        }

        private static long number(Odd odd, int index) {
            return odd.numbers.get(index % odd.numbers.size());
        }

        private static long[] numbers(Odd odd, int from, int count) {
            return IntStream.range(from, from + count).mapToLong(i -> number(odd, i)).toArray();
        }

        private Tensor empty(Storage storage, Odd odd) {
            long[] sizes = numbers(odd, 1, odd.rank);
            sizes[odd.at % odd.rank] = 0;
            return tensor(storage, odd, number(odd, 0), sizes, numbers(odd, 1 + odd.rank, odd.rank));
        }

        private Tensor repeated(Storage storage, Odd odd) {
            long elements = elements(storage, odd);
            return elements == 0
                    ? empty(storage, odd)
                    : tensor(storage, odd, odd.at % elements, new long[]{odd.repeats, 1}, 0, number(odd, 0));
        }

        private Tensor atTheEnd(Storage storage, Odd odd) {
            long elements = elements(storage, odd);
            return elements == 0
                    ? whole(storage, odd)
                    : tensor(storage, odd, elements - 1, new long[0]);
        }

        private Tensor whole(Storage storage, Odd odd) {
            return tensor(storage, odd, 0, new long[]{elements(storage, odd)}, 1);
        }

        private Tensor ofManyDimensions(Storage storage, Odd odd) {
            if (elements(storage, odd) == 0) {
                return empty(storage, odd);
            }
            long[] sizes = new long[odd.rank];
            Arrays.fill(sizes, 1);
            return tensor(storage, odd, 0, sizes, numbers(odd, 0, odd.rank));
        }

        private Tensor onMeta(Odd odd) {
            long nbytes = number(odd, 0);
            return tensor(meta(nbytes), odd, 0, new long[]{nbytes / Byte.SIZE * Byte.SIZE / odd.dtype.bits()}, 1);
        }

        private static long elements(Storage storage, Odd odd) {
            return storage.nbytes() * Byte.SIZE / odd.dtype.bits();
        }
    }
}
