package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.stream.IntStream;

/// Makes states of tensors whose geometry is at the limits of what a tensor may have: no elements and any offset, one
/// element repeated any number of times, any stride in dimensions of size 1, as many dimensions as there may be,
/// elements that end where the storage ends, storages without bytes, storages that are no whole number of elements.
public final class OddGeometry {
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

    private final Choices choices;
    private final List<DType> dtypes;
    private final List<Storage> storages = new ArrayList<>();

    private OddGeometry(List<DType> dtypes, byte... choices) {
        this.dtypes = dtypes;
        this.choices = new Choices(choices);
    }

    /// {@return tensors by name, the last of which is as usual}
    ///
    /// @param choices what they are; equal choices make equal ones
    public static SequencedMap<String, Tensor> make(byte... choices) {
        return new OddGeometry(ODD_TYPES, choices).make();
    }

    private SequencedMap<String, Tensor> make() {
        SequencedMap<String, Tensor> tensors = new LinkedHashMap<>();
        int count = 1 + (choices.yes() ? choices.below(MOST_TENSORS) : 0);
        for (int i = 0; i < count; i++) {
            tensors.put(ODD + i, tensor());
        }
        tensors.put(USUAL, Tensor.of(1f, 2f));
        return tensors;
    }

    private Tensor tensor() {
        DType dtype = choices.of(dtypes);
        Tensor tensor = switch (choices.below(7)) {
            case 0 -> empty(storage(), dtype);
            case 1 -> repeated(storage(), dtype);
            case 2 -> atTheEnd(storage(), dtype);
            case 3 -> ofManyDimensions(storage(), dtype);
            case 4 -> onMeta(dtype);
            case 5 -> Tensor.of(storage(), dtype, choices.of(NUMBERS), Shape.of(0), choices.of(NUMBERS));
            default -> empty(Storage.meta(choices.of(NUMBERS)), dtype);
        };
        return choices.below(8) == 7 ? tensor.withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD)) : tensor;
    }

    private Storage storage() {
        if (storages.isEmpty() || choices.yes()) {
            storages.add(Storage.allocate(choices.of(List.of(0, 1, 3, 8, 10, 64, 100))));
        }
        return choices.of(storages);
    }

    private Tensor empty(Storage storage, DType dtype) {
        int rank = choices.below(8) == 7 ? Shape.MAX_RANK : 1 + choices.below(3);
        long[] sizes = numbers(rank);
        sizes[choices.below(rank)] = 0;
        return Tensor.of(storage, dtype, choices.of(NUMBERS), Shape.of(sizes), numbers(rank));
    }

    private long[] numbers(int rank) {
        return IntStream.range(0, rank).mapToLong(_ -> choices.of(NUMBERS)).toArray();
    }

    private Tensor repeated(Storage storage, DType dtype) {
        long elements = elements(storage, dtype);
        if (elements == 0) {
            return empty(storage, dtype);
        }
        return Tensor.of(storage, dtype, choices.below((int) elements), Shape.of(choices.of(REPEATS), 1), 0,
                choices.of(NUMBERS));
    }

    private Tensor atTheEnd(Storage storage, DType dtype) {
        long elements = elements(storage, dtype);
        return elements == 0
                ? Tensor.of(storage, dtype, 0, Shape.of(0), 1)
                : choices.yes()
                        ? Tensor.of(storage, dtype, elements - 1, Shape.SCALAR)
                        : Tensor.of(storage, dtype, 0, Shape.of(elements), 1);
    }

    private Tensor ofManyDimensions(Storage storage, DType dtype) {
        if (elements(storage, dtype) == 0) {
            return empty(storage, dtype);
        }
        int rank = choices.yes() ? Shape.MAX_RANK : 1 + choices.below(9);
        return Tensor.of(storage, dtype, 0,
                Shape.of(Collections.nCopies(rank, 1L).stream().mapToLong(i -> i).toArray()),
                numbers(rank));
    }

    private Tensor onMeta(DType dtype) {
        long nbytes = choices.of(NUMBERS);
        long elements = nbytes / Byte.SIZE * Byte.SIZE / dtype.bits();
        return Tensor.of(Storage.meta(nbytes), dtype, 0, Shape.of(elements), 1);
    }

    private static long elements(Storage storage, DType dtype) {
        return storage.nbytes() * Byte.SIZE / dtype.bits();
    }
}
