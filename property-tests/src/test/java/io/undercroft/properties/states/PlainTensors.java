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
    private final Program program;
    private final TensorMaker maker;
    private final List<DType> dtypes;
    private final int mask;
    private final List<Tensor> wholes = new ArrayList<>();
    private final List<Tensor> made = new ArrayList<>();

    private PlainTensors(Choices choices, Program program, List<DType> dtypes, int mask) {
        this.choices = choices;
        this.program = program;
        this.maker = new TensorMaker(program);
        this.dtypes = dtypes;
        this.mask = mask;
    }

    /// {@return one that makes tensors of any bytes}
    ///
    /// @param choices which ones
    /// @param program the program that grows with what is made
    /// @param dtypes the types of their elements
    public static PlainTensors of(Choices choices, Program program, List<DType> dtypes) {
        return new PlainTensors(choices, program, dtypes, 0xFF);
    }

    /// {@return one whose tensors hold no NaN, of which text knows one only: the highest bit of no exponent is set}
    ///
    /// @param choices which ones
    /// @param program the program that grows with what is made
    /// @param dtypes the types of their elements
    public static PlainTensors ofNumbers(Choices choices, Program program, List<DType> dtypes) {
        return new PlainTensors(choices, program, dtypes, 0xBF);
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
        long nbytes = dtype.nbytes(shape.numel());
        int seed = choices.below(256);
        Storage storage = program.declare("s", filled(nbytes, seed, mask),
                "PlainTensors.filled(" + nbytes + ", " + seed + ", " + mask + ")");
        Tensor tensor = maker.tensor(storage, dtype, 0, shape.toArray(), shape.contiguousStride());
        wholes.add(tensor);
        return tensor;
    }

    /// {@return a storage of random bytes}
    ///
    /// @param nbytes its size
    /// @param seed of the bytes
    /// @param mask the bits that may be set
    public static Storage filled(long nbytes, int seed, int mask) {
        Storage storage = Storage.allocate(nbytes);
        SplittableRandom random = new SplittableRandom(seed);
        for (long i = 0; i < nbytes; i++) {
            storage.segment().set(ValueLayout.JAVA_BYTE, i, (byte) (random.nextInt() & mask));
        }
        return storage;
    }

    private Tensor view(Tensor of) {
        if (of.dim() == 0) {
            long[] sizes = {choices.below(3), choices.below(3)};
            return program.view(of, of.expand(sizes), "expand(" + JavaSource.numbers(sizes) + ")");
        }
        int dim = choices.below(of.dim());
        int size = (int) of.size(dim);
        return switch (choices.below(5)) {
            case 0 -> {
                int other = choices.below(of.dim());
                yield program.view(of, of.transpose(dim, other), "transpose(" + dim + ", " + other + ")");
            }
            case 1 -> {
                int index = choices.below(Math.max(size, 1));
                yield size == 0 ? of : program.view(of, of.select(dim, index), "select(" + dim + ", " + index + ")");
            }
            case 2 -> program.view(of, of.unsqueeze(dim), "unsqueeze(" + dim + ")");
            case 3 -> program.view(of, of.withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD)),
                    "withFlags(Set.of(Tensor.Flag.REQUIRES_GRAD))");
            default -> {
                int start = choices.below(size + 1);
                int length = choices.below(size - start + 1);
                yield program.view(of, of.narrow(dim, start, length),
                        "narrow(" + dim + ", " + start + ", " + length + ")");
            }
        };
    }

    /// Elements that perhaps overlap, perhaps not.
    private Tensor somewhere(Tensor on) {
        int space = (int) Math.min(on.numel(), LARGE);
        int offset = choices.below(space + 1);
        return maker.tensor(on.storage(), on.dtype(), offset, new long[]{choices.below(space - offset + 1)}, 1);
    }
}
