package io.undercroft.properties.states;

import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/// Makes tensors as most formats can hold them: whole ones, and views of whole ones with elements of the same type. Few
/// use a storage in any other way. [TensorMaker] makes all kinds.
public final class PlainTensors {
    private static final int LARGE = 70_000;

    private final Choices choices;
    private final List<DType> dtypes;
    private final int mask;
    private final List<Tensor> wholes = new ArrayList<>();
    private final List<Tensor> made = new ArrayList<>();

    private PlainTensors(Choices choices, List<DType> dtypes, int mask) {
        this.choices = choices;
        this.dtypes = dtypes;
        this.mask = mask;
    }

    /// {@return one that makes tensors of any bytes}
    public static PlainTensors of(Choices choices, List<DType> dtypes) {
        return new PlainTensors(choices, dtypes, 0xFF);
    }

    /// {@return one whose tensors hold no NaN, of which text knows one only: the highest bit of no exponent is set}
    public static PlainTensors ofNumbers(Choices choices, List<DType> dtypes) {
        return new PlainTensors(choices, dtypes, 0xBF);
    }

    /// {@return a tensor, new or not}
    public Tensor tensor() {
        Tensor tensor = switch (choices.below(wholes.isEmpty() ? 1 : 10)) {
            case 0, 1, 2, 3 -> whole();
            case 4 -> choices.of(made);
            case 5 -> somewhere(choices.of(wholes));
            default -> view(choices.of(wholes));
        };
        made.add(tensor);
        return tensor;
    }

    private Tensor whole() {
        DType dtype = choices.of(dtypes);
        Shape shape = choices.below(64) == 63
                ? Shape.of(LARGE)
                : Shape.of(IntStream.range(0, choices.below(5)).mapToLong(_ -> choices.below(6)).toArray());
        Tensor tensor = Tensor.of(filled(dtype.nbytes(shape.numel())), dtype, 0, shape, shape.contiguousStride());
        wholes.add(tensor);
        return tensor;
    }

    private Storage filled(long nbytes) {
        Storage storage = Storage.allocate(nbytes);
        SplittableRandom random = new SplittableRandom(choices.below(256));
        for (long i = 0; i < nbytes; i++) {
            storage.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (random.nextInt() & mask));
        }
        return storage;
    }

    private Tensor view(Tensor of) {
        if (of.dim() == 0) {
            return of.expand(choices.below(3), choices.below(3));
        }
        int dim = choices.below(of.dim());
        int size = (int) of.size(dim);
        return switch (choices.below(5)) {
            case 0 -> of.transpose(dim, choices.below(of.dim()));
            case 1 -> size == 0 ? of : of.select(dim, choices.below(size));
            case 2 -> of.unsqueeze(dim);
            case 3 -> of.withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD));
            default -> {
                int start = choices.below(size + 1);
                yield of.narrow(dim, start, choices.below(size - start + 1));
            }
        };
    }

    /// Elements that perhaps overlap, perhaps not.
    private Tensor somewhere(Tensor on) {
        int space = (int) Math.min(on.numel(), LARGE);
        int offset = choices.below(space + 1);
        return Tensor.of(on.storage(), on.dtype(), offset, Shape.of(choices.below(space - offset + 1)), 1);
    }
}
