package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/// Makes tensors: on storages of their own, on parts of larger ones, views of earlier ones, and earlier ones again.
public final class TensorMaker {
    private static final DType UNKNOWN = DType.opaque("float6_e3m2", 6);
    /// Sizes around what the format treats differently: nothing, less than an alignment, a page, what is mapped, a
    /// chunk.
    private static final List<Integer> SIZES = List.of(0, 1, 7, 64, 65, 4096, 65_535, 65_536, 70_000, (1 << 20) + 5);

    private final Choices choices;
    private final List<DType> dtypes;
    private final Set<Tensor.Flag> flags;
    private final boolean isOdd;
    private final List<Storage> storages = new ArrayList<>();
    private final List<Tensor> tensors = new ArrayList<>();

    private TensorMaker(Choices choices, List<DType> dtypes, Set<Tensor.Flag> flags, boolean isOdd) {
        this.choices = choices;
        this.dtypes = dtypes;
        this.flags = flags;
        this.isOdd = isOdd;
    }

    TensorMaker(Choices choices) {
        this(choices, DType.values(), EnumSet.allOf(Tensor.Flag.class), true);
    }

    /// {@return one whose storages all have bytes, and whose tensors have elements and flags of a choice}
    public static TensorMaker of(Choices choices, List<DType> dtypes, Set<Tensor.Flag> flags) {
        return new TensorMaker(choices, dtypes, flags, false);
    }

    /// {@return a storage, new or not}
    public Storage storage() {
        if (!storages.isEmpty() && choices.yes()) {
            return choices.of(storages);
        }
        // Large ones are rare, as they take time.
        int size = choices.below(8) == 7 ? choices.of(SIZES) : choices.below(200);
        return keep(isOdd && choices.below(16) == 15 ? Storage.meta(size) : filled(size));
    }

    /// {@return a tensor, new or not}
    public Tensor tensor() {
        Tensor made = switch (choices.below(tensors.isEmpty() ? 3 : 12)) {
            case 0 -> contiguous();
            case 1 -> somewhere(storage(), dtype());
            case 2 -> flagged(contiguous());
            case 3 -> choices.of(tensors);
            case 4 -> somewhere(choices.of(tensors).storage(), dtype());
            default -> view(choices.of(tensors));
        };
        tensors.add(made);
        return made;
    }

    private Storage keep(Storage storage) {
        storages.add(storage);
        return storage;
    }

    /// Half of them have only zeros somewhere, which the format may leave out; equal seeds give equal bytes.
    private Storage filled(int size) {
        Storage storage = Storage.allocate(size);
        int seed = choices.below(8);
        if (seed > 0) {
            var random = new SplittableRandom(seed);
            int from = seed > 4 ? size / 2 : 0;
            for (int i = from; i < size; i++) {
                storage.segment().set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
            }
        }
        return storage;
    }

    private DType dtype() {
        return isOdd && choices.below(16) == 15 ? UNKNOWN : choices.of(dtypes);
    }

    private Tensor flagged(Tensor tensor) {
        Set<Tensor.Flag> chosen = EnumSet.noneOf(Tensor.Flag.class);
        for (Tensor.Flag flag : flags) {
            if (choices.yes() && isPossible(flag, tensor.dtype())) {
                chosen.add(flag);
            }
        }
        return tensor.withFlags(chosen);
    }

    private static boolean isPossible(Tensor.Flag flag, DType dtype) {
        return switch (flag) {
            case REQUIRES_GRAD -> true;
            case CONJ -> dtype.kind() == DType.Kind.COMPLEX;
            case NEG -> EnumSet.of(DType.Kind.FLOATING, DType.Kind.SIGNED, DType.Kind.COMPLEX).contains(dtype.kind());
        };
    }

    private Shape shape() {
        return Shape.of(IntStream.range(0, choices.below(5)).mapToLong(i -> choices.below(6)).toArray());
    }

    private Tensor contiguous() {
        DType dtype = dtype();
        Shape shape = shape();
        Storage storage = keep(filled(Math.toIntExact(dtype.nbytes(shape.numel()))));
        return Tensor.of(storage, dtype, 0, shape, shape.contiguousStride());
    }

    /// Any geometry that fits: gaps, overlaps, repeated elements.
    private Tensor somewhere(Storage storage, DType dtype) {
        long space = storage.nbytes() * 8 / dtype.bits();
        if (space == 0) {
            return Tensor.of(storage, dtype, 0, Shape.of(0), 1);
        }
        long offset = choices.below((int) Math.min(space, Integer.MAX_VALUE));
        long last = space - 1 - offset;
        int rank = choices.below(5);
        long[] sizes = new long[rank];
        long[] stride = new long[rank];
        for (int d = 0; d < rank; d++) {
            sizes[d] = choices.below(6);
            stride[d] = sizes[d] > 1 ? choices.below((int) (last / (sizes[d] - 1)) + 1) : choices.below(100);
            last -= Math.max(sizes[d] - 1, 0) * stride[d];
        }
        return Tensor.of(storage, dtype, offset, Shape.of(sizes), stride);
    }

    private Tensor view(Tensor of) {
        if (of.dim() == 0) {
            return of.expand(choices.below(4), choices.below(4));
        }
        int dim = choices.below(of.dim());
        long size = of.size(dim);
        return switch (choices.below(7)) {
            case 0 -> {
                int start = choices.below((int) size + 1);
                yield of.narrow(dim, start, choices.below((int) size - start + 1));
            }
            case 1 -> of.transpose(dim, choices.below(of.dim()));
            case 2 -> of.permute(order(of.dim()));
            case 3 -> size == 0 ? of : of.select(dim, choices.below((int) size));
            case 4 -> expanded(of);
            case 5 -> flagged(of);
            default -> somewhere(of.storage(), of.dtype());
        };
    }

    /// A new dimension in front, and the first dimension of size 1, if there is one, repeated.
    private Tensor expanded(Tensor of) {
        long[] sizes = new long[of.dim() + 1];
        sizes[0] = choices.below(4);
        for (int d = 0; d < of.dim(); d++) {
            sizes[d + 1] = of.size(d) == 1 ? 1 + choices.below(3) : of.size(d);
        }
        return of.dim() < 8 ? of.expand(sizes) : of;
    }

    private int[] order(int rank) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, rank).boxed().toList());
        for (int d = rank - 1; d > 0; d--) {
            Collections.swap(order, d, choices.below(d + 1));
        }
        return order.stream().mapToInt(Integer::intValue).toArray();
    }
}
