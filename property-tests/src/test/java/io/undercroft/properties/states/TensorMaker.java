package io.undercroft.properties.states;

import io.undercroft.mmap.ByteRange;
import io.undercroft.mmap.FileStorage;
import io.undercroft.mmap.MapMode;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StorageSketch.Fresh;
import io.undercroft.properties.states.StorageSketch.Known;
import io.undercroft.properties.states.StorageSketch.Place;
import io.undercroft.properties.states.TensorSketch.Again;
import io.undercroft.properties.states.TensorSketch.Strided;
import io.undercroft.properties.states.TensorSketch.View;
import io.undercroft.properties.states.TensorSketch.Whole;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.condition.OS;

/// Makes the tensors and storages of sketches, each of which may use those before it, and writes the program that makes
/// them.
public final class TensorMaker {
    /// How many kinds of bytes [#fill] knows.
    public static final int FILLS = 11;
    private static final int MAX_RANK = 8;
    private static final ValueLayout.OfLong LONGS = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    /// Not numbers of float64, float32, and of bfloat16 and float16: some signalling, all with a payload.
    private static final long[] NANS = {0x7FF0_0000_DEAD_BEEFL, 0x7FA0_BEEF_FFC0_1234L, 0x7F81_FFC5_7D01_FE01L};

    private final Program program;
    private final List<Storage> storages = new ArrayList<>();
    private final List<Tensor> tensors = new ArrayList<>();

    /// @param program the program that grows with what is made
    public TensorMaker(Program program) {
        this.program = program;
    }

    /// {@return whether no tensor was made yet}
    public boolean isEmpty() {
        return tensors.isEmpty();
    }

    /// {@return the storage of a sketch, new or not}
    public Storage storage(StorageSketch sketch) {
        return switch (sketch) {
            case Known(int which) when !storages.isEmpty() -> storages.get(which % storages.size());
            case Known _ -> fresh(new Fresh(Place.NATIVE, 0, 0));
            case Fresh fresh -> fresh(fresh);
        };
    }

    /// {@return the tensor of a sketch, new or not}
    public Tensor tensor(TensorSketch sketch) {
        Tensor made = switch (sketch) {
            case Whole whole -> whole(whole);
            case Strided strided -> strided(storage(strided.storage()), strided);
            case View view when !tensors.isEmpty() -> view(tensors.get(view.of() % tensors.size()), view);
            case Again(int which) when !tensors.isEmpty() -> tensors.get(which % tensors.size());
            case View _,Again _ -> whole(new Whole(DType.FLOAT32, List.of(), 0, Set.of()));
        };
        tensors.add(made);
        return made;
    }

    // ---- storages ----

    private Storage fresh(Fresh fresh) {
        String nbytes = Integer.toString(fresh.nbytes());
        boolean isMapped = fresh.place() == Place.MAPPED || fresh.place() == Place.SHARED;
        boolean canMap = fresh.nbytes() > 0 && OS.LINUX.isCurrentOs();
        Storage storage = switch (isMapped && !canMap ? Place.NATIVE : fresh.place()) {
            case HEAP -> declare(Storage.wrap(MemorySegment.ofArray(new byte[fresh.nbytes()])),
                    "Storage.wrap(MemorySegment.ofArray(new byte[" + nbytes + "]))");
            case MAPPED -> declare(mapped(MapMode.PRIVATE, fresh.nbytes()),
                    "TensorMaker.mapped(MapMode.PRIVATE, " + nbytes + ")");
            case SHARED -> declare(mapped(MapMode.SHARED, fresh.nbytes()),
                    "TensorMaker.mapped(MapMode.SHARED, " + nbytes + ")");
            case META -> declare(Storage.meta(fresh.nbytes()), "Storage.meta(" + nbytes + ")");
            case NATIVE -> declare(Storage.allocate(fresh.nbytes()), "Storage.allocate(" + nbytes + ")");
        };
        if (!storage.isMeta() && fresh.fill() > 0) {
            fill(storage, fresh.fill());
            program.line("TensorMaker.fill(" + program.use(storage) + ", " + fresh.fill() + ")");
        }
        storages.add(storage);
        return storage;
    }

    private Storage declare(Storage storage, String expression) {
        return program.declare("s", storage, expression);
    }

    /// {@return a storage on a mapped file whose name is gone}
    public static Storage mapped(MapMode mode, int nbytes) {
        try (Scratch scratch = Scratch.make()) {
            Path file = Files.write(scratch.file("bytes"), new byte[nbytes]);
            return FileStorage.open(file, mode, ByteRange.bytes(nbytes));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /// Fills a storage of zeros: with the first kind not at all, with the next ones by random bytes, of which the later
    /// start in the middle, and with the last ones by values that are not numbers and have a payload. Half of the
    /// storages have only zeros somewhere, which the format may leave out; equal kinds give equal bytes.
    public static void fill(Storage storage, int kind) {
        MemorySegment bytes = storage.segment();
        int size = (int) storage.nbytes();
        if (kind > FILLS - 1 - NANS.length) {
            long pattern = NANS[FILLS - 1 - kind];
            for (int i = 0; i + Long.BYTES <= size; i += Long.BYTES) {
                bytes.set(LONGS, i, pattern);
            }
        } else if (kind > 0) {
            var random = new SplittableRandom(kind);
            for (int i = kind > 4 ? size / 2 : 0; i < size; i++) {
                bytes.set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
            }
        }
    }

    // ---- tensors ----

    /// {@return a tensor on a storage that the program has}
    public Tensor tensor(Storage storage, DType dtype, long offset, long[] sizes, long... strides) {
        String numbers = strides.length == 0 ? "" : ", " + JavaSource.numbers(strides);
        return program.declare("t", Tensor.of(storage, dtype, offset, Shape.of(sizes), strides),
                "Tensor.of(" + program.use(storage) + ", " + JavaSource.of(dtype) + ", " + JavaSource.numbers(offset)
                        + ", Shape.of(" + JavaSource.numbers(sizes) + ")" + numbers + ")");
    }

    private Tensor whole(Whole whole) {
        long[] sizes = whole.sizes().stream().mapToLong(size -> size).toArray();
        Shape shape = Shape.of(sizes);
        int nbytes = Math.toIntExact(whole.dtype().nbytes(shape.numel()));
        Storage storage = fresh(new Fresh(Place.NATIVE, nbytes, whole.fill()));
        Tensor tensor = tensor(storage, whole.dtype(), 0, sizes, shape.contiguousStride());
        return whole.flags().isEmpty() ? tensor : flagged(tensor, whole.flags());
    }

    private Tensor strided(Storage storage, Strided sketch) {
        long space = storage.nbytes() * 8 / sketch.dtype().bits();
        if (space == 0) {
            return tensor(storage, sketch.dtype(), 0, new long[]{0}, 1);
        }
        long offset = sketch.offset() % space;
        long last = space - 1 - offset;
        long[] sizes = sketch.sizes().stream().mapToLong(size -> size).toArray();
        long[] strides = new long[sizes.length];
        for (int d = 0; d < sizes.length; d++) {
            int stride = sketch.strides().get(d);
            strides[d] = sizes[d] > 1 ? stride % (last / (sizes[d] - 1) + 1) : stride % 100;
            last -= Math.max(sizes[d] - 1, 0) * strides[d];
        }
        return tensor(storage, sketch.dtype(), offset, sizes, strides);
    }

    private Tensor flagged(Tensor tensor, Set<Tensor.Flag> wanted) {
        Set<Tensor.Flag> flags = EnumSet.noneOf(Tensor.Flag.class);
        wanted.stream().filter(flag -> isPossible(flag, tensor.dtype())).forEach(flags::add);
        return program.view(tensor, tensor.withFlags(flags), "withFlags(Set.of("
                + flags.stream().map(flag -> "Tensor.Flag." + flag).collect(Collectors.joining(", ")) + "))");
    }

    private static boolean isPossible(Tensor.Flag flag, DType dtype) {
        return switch (flag) {
            case REQUIRES_GRAD -> true;
            case CONJ -> dtype.kind() == DType.Kind.COMPLEX;
            case NEG -> EnumSet.of(DType.Kind.FLOATING, DType.Kind.SIGNED, DType.Kind.COMPLEX).contains(dtype.kind());
        };
    }

    private Tensor view(Tensor of, View view) {
        if (view.way() == TensorSketch.Way.FLAG) {
            Set<Tensor.Flag> flags = EnumSet.allOf(Tensor.Flag.class);
            flags.removeIf(flag -> (view.third() >> TensorSketch.FLAGS.indexOf(flag) & 1) == 0);
            return flagged(of, flags);
        }
        if (view.way() == TensorSketch.Way.RESTRIDE) {
            int number = view.third();
            List<Integer> sizes = IntStream.range(0, number % 5).map(d -> (number >> d) % 6).boxed().toList();
            return strided(of.storage(), new Strided(new Known(0), of.dtype(), view.second(), sizes,
                    IntStream.range(0, 4).map(d -> view.first() >> d).boxed().toList()));
        }
        if (of.dim() == 0) {
            long[] sizes = {view.first() % 4, view.second() % 4};
            return program.view(of, of.expand(sizes), "expand(" + JavaSource.numbers(sizes) + ")");
        }
        int dim = view.first() % of.dim();
        int other = view.second() % of.dim();
        int size = (int) of.size(dim);
        return switch (view.way()) {
            case NARROW -> {
                int start = view.second() % (size + 1);
                int count = view.third() % (size - start + 1);
                yield program.view(of, of.narrow(dim, start, count),
                        "narrow(" + dim + ", " + start + ", " + count + ")");
            }
            case TRANSPOSE -> program.view(of, of.transpose(dim, other), "transpose(" + dim + ", " + other + ")");
            case SELECT -> size == 0
                    ? of
                    : program.view(of, of.select(dim, view.second() % size),
                            "select(" + dim + ", " + view.second() % size + ")");
            case EXPAND -> of.dim() < MAX_RANK ? expanded(of, view) : of;
            default -> permuted(of, view.third());
        };
    }

    /// A new dimension in front, and the dimensions of size 1 repeated.
    private Tensor expanded(Tensor of, View view) {
        long[] sizes = new long[of.dim() + 1];
        sizes[0] = view.second() % 4;
        for (int d = 0; d < of.dim(); d++) {
            sizes[d + 1] = of.size(d) == 1 ? 1 + (view.third() >> d) % 3 : of.size(d);
        }
        return program.view(of, of.expand(sizes), "expand(" + JavaSource.numbers(sizes) + ")");
    }

    private Tensor permuted(Tensor of, int number) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, of.dim()).boxed().toList());
        int rest = number;
        for (int d = of.dim() - 1; d > 0; d--) {
            Collections.swap(order, d, rest % (d + 1));
            rest /= d + 1;
        }
        return program.view(of, of.permute(order.stream().mapToInt(i -> i).toArray()),
                "permute(" + order.stream().map(String::valueOf).collect(Collectors.joining(", ")) + ")");
    }
}
