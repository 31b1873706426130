package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;

/// Which storage a [TensorMaker] is to use.
public sealed interface StorageSketch {
    /// A new one.
    ///
    /// @param place where its bytes are
    /// @param nbytes its size
    /// @param fill what its bytes are, see [TensorMaker#fill]
    record Fresh(Place place, int nbytes, int fill) implements StorageSketch {}

    /// One that the maker made before, if there is one.
    ///
    /// @param which its number, of which the remainder counts
    record Known(int which) implements StorageSketch {}

    /// Where bytes are.
    enum Place {
        /// In memory that the library allocates.
        NATIVE,
        /// In an array.
        HEAP,
        /// In a file that is mapped copy-on-write.
        MAPPED,
        /// In a file that is mapped such that others see what is written.
        SHARED,
        /// Nowhere.
        META
    }

    /// Sizes around what the format treats differently: nothing, less than an alignment, a page, what is mapped, a
    /// chunk.
    List<Integer> SIZES = List.of(0, 1, 7, 64, 65, 4096, 65_535, 65_536, 70_000, (1 << 20) + 5);

    /// {@return storages of all kinds, new ones and known ones} Large ones are rare, as they take time.
    static Arbitrary<StorageSketch> any() {
        Arbitrary<Place> places = Arbitraries.frequency(Tuple.of(10, Place.NATIVE), Tuple.of(2, Place.HEAP),
                Tuple.of(1, Place.MAPPED), Tuple.of(1, Place.SHARED), Tuple.of(1, Place.META));
        Arbitrary<Integer> sizes = Arbitraries.frequencyOf(Tuple.of(7, Arbitraries.integers().between(0, 199)),
                Tuple.of(1, Arbitraries.of(SIZES)));
        Arbitrary<StorageSketch> fresh = Combinators.combine(places, sizes, fills()).as(Fresh::new);
        return Arbitraries.frequencyOf(Tuple.of(1, fresh), Tuple.of(1, numbers().map(Known::new)));
    }

    /// {@return all kinds of bytes}
    static Arbitrary<Integer> fills() {
        return Arbitraries.integers().between(0, TensorMaker.FILLS - 1);
    }

    /// {@return numbers of things, of which the remainder counts}
    static Arbitrary<Integer> numbers() {
        return Arbitraries.integers().between(0, 1000);
    }

    /// {@return a storage with bytes, chosen by the maker of another kind of states}
    static StorageSketch of(Choices choices) {
        if (choices.yes()) {
            return new Known(choices.below(1000));
        }
        int size = choices.below(8) == 7 ? choices.of(SIZES) : choices.below(200);
        return new Fresh(Place.NATIVE, size, choices.below(TensorMaker.FILLS));
    }
}
