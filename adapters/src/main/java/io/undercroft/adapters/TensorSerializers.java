package io.undercroft.adapters;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.esotericsoftware.kryo.ClassResolver;
import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.Registration;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.util.ObjectMap;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/// Serializers of Kryo for [Tensor], [Storage], [TypedStorage], [DType] and [Shape], in any graph of objects that a
/// program writes by Kryo 4 or 5.
///
/// A tensor keeps its dtype, shape, strides, offset and flags. It has no gradient afterwards, as a tensor of a
/// checkpoint. A storage that several tensors, slices or fields of one graph reference is written once and read as one
/// storage, whether Kryo's own references are on or off. They have to be on (`setReferences(true)`) if one tensor that
/// is referenced twice should be read as one object, too. If `setAutoReset(false)` makes several graphs one for Kryo,
/// they are one here. As with Kryo's references, a reader must not skip a field with the first use of a storage, which
/// serializers with chunked encoding do with fields that they do not know: the storages after it would be mixed up.
///
/// **Bytes** are written as they are, in pieces, so that a storage may have more than 2 GiB; an `Output` without a
/// stream may not. Those of a device are read as bytes of the host. Storages that are read are allocated by
/// [Allocator#offHeap][io.undercroft.storage.Allocator#offHeap], writable and resizable. Meta storages stay meta.
/// `Kryo.copy` copies each storage once.
///
/// **Hostile input** makes reading throw a [KryoException], whose message says what is wrong with the tensor or
/// storage. What is allocated for a storage is in proportion to the bytes that follow, whatever the input claims, and
/// the storages of one graph have no more bytes than the limit that is given when the serializers are registered. Kryo
/// itself may throw other exceptions for other parts of the graph.
///
/// **Threads and lifetimes.** A Kryo is used by one thread at a time. A storage must not be freed while it is written,
/// which throws an [IllegalStateException]. Storages that are read belong to the caller, as those of
/// [Storage#allocate].
public final class TensorSerializers {
    /// What is written of a storage that other processes can open. Both sides need the same value if it is
    /// [#HANDLES].
    public enum Shared {
        /// Its bytes, as of any other storage.
        BYTES,
        /// A [SharedStorageHandle] in place of the bytes, for processes on one host. Other storages are written as
        /// bytes: call [Storage#shareMemory] before.
        ///
        /// The process that wrote a handle keeps the storage until all readers have opened it. Each graph that is read
        /// has one reference to the storage, which the caller releases; a process that has it already gets the same
        /// object. Whoever wrote the input can make the reader map any file or shared memory that the reader may
        /// write, so read only what trusted processes wrote. The program needs `undercroft-mmap`.
        HANDLES
    }

    /// What precedes a storage that is not one of those before. A larger number means one of those.
    private static final int BYTES = 0;
    private static final int META = 1;
    private static final int SLICE = 2;
    private static final int HANDLE = 3;
    private static final int KINDS = 4;

    private static final int PIECE = 1 << 16;
    /// How many bytes are allocated before the first one is read, and how much more after that.
    private static final long FIRST = 1 << 20;
    private static final int GROWTH = 4;
    private static final int MAX_HANDLE = 1 << 16;

    private final long maxBytes;
    private final Shared shared;

    private TensorSerializers(long maxBytes, Shared shared) {
        this.maxBytes = maxBytes;
        this.shared = shared;
    }

    /// Registers the serializers, without a limit other than the input, and without handles.
    ///
    /// @param kryo the Kryo, on both sides at the same point in the order of registrations
    public static void register(Kryo kryo) {
        register(kryo, Long.MAX_VALUE, Shared.BYTES);
    }

    /// Registers the serializers. Five classes get the next free ids, in the order in which the description of this
    /// class names them, unless the program has registered them with ids of its own before.
    ///
    /// @param kryo the Kryo, on both sides at the same point in the order of registrations
    /// @param maxBytes the maximum number of bytes that the storages of one graph have when it is read, but for those
    ///     that a handle opens
    /// @param shared what is written of storages that other processes can open, and whether handles are opened
    /// @throws IllegalArgumentException if the limit is negative
    public static void register(Kryo kryo, long maxBytes, Shared shared) {
        if (maxBytes < 0) {
            throw new IllegalArgumentException("a limit of " + maxBytes + " bytes is negative");
        }
        TensorSerializers here = new TensorSerializers(maxBytes, Objects.requireNonNull(shared, "shared"));
        Registration tensor = kryo.register(Tensor.class,
                new Of<>("tensor", here::writeTensor, here::readTensor, TensorSerializers::copy));
        // Kryo looks for the class of the object; the id means the one that all of them are. Kryo.register would take
        // the id from the class before.
        ClassResolver classes = kryo.getClassResolver();
        for (Class<?> type : Tensor.class.getPermittedSubclasses()) {
            classes.register(new Registration(type, tensor.getSerializer(), tensor.getId()));
        }
        classes.register(tensor);
        kryo.register(Storage.class,
                new Of<>("storage", here::writeStorage, here::readStorage, TensorSerializers::copy));
        kryo.register(TypedStorage.class,
                new Of<>("typed storage", here::writeTyped, here::readTyped, TensorSerializers::copy));
        kryo.register(DType.class, new Of<>("dtype", (_, output, dtype) -> write(output, dtype),
                (_, input) -> readDType(input), (_, dtype) -> dtype));
        kryo.register(Shape.class, new Of<>("shape", (_, output, shape) -> write(output, shape),
                (_, input) -> readShape(input), (_, shape) -> shape));
    }

    /// Makes the tensors and storages of the next graph parts of something else: only their positions are written.
    ///
    /// @param kryo a Kryo with these serializers, between two graphs
    /// @param parts the list that gets the tensors and storages that are written, or has those that are read
    static void exchange(Kryo kryo, List<@Nullable Object> parts) {
        Graph.of(kryo).parts = parts;
    }

    // ---- tensors ----

    private void writeTensor(Kryo kryo, Output output, Tensor tensor) {
        if (writePart(kryo, output, tensor)) {
            return;
        }
        writeStorage(kryo, output, tensor.storage());
        write(output, tensor.dtype());
        output.writeByte(tensor.flags().stream().mapToInt(TensorSerializers::bit).sum());
        output.writeVarLong(tensor.storageOffset(), true);
        write(output, tensor.shape());
        for (long step : tensor.stride()) {
            output.writeVarLong(step, true);
        }
    }

    private Tensor readTensor(Kryo kryo, Input input) throws IOException {
        List<@Nullable Object> parts = Graph.of(kryo).parts;
        if (parts != null) {
            return readPart(parts, input, Tensor.class);
        }
        Storage storage = readStorage(kryo, input);
        DType dtype = readDType(input);
        Set<Flag> flags = flags(input.readByteUnsigned());
        long offset = input.readVarLong(true);
        Shape shape = readShape(input);
        Tensor tensor = Tensor.of(storage, dtype, offset, shape, readLongs(input, shape.rank()));
        return flags.isEmpty() ? tensor : tensor.withFlags(flags);
    }

    private static Tensor copy(Kryo kryo, Tensor tensor) {
        return Tensor.of(kryo.copy(tensor.storage()), tensor.dtype(), tensor.storageOffset(), tensor.shape(),
                tensor.stride()).withFlags(tensor.flags());
    }

    private static Set<Flag> flags(int bits) {
        Set<Flag> flags = EnumSet.allOf(Flag.class);
        flags.removeIf(flag -> (bits & bit(flag)) == 0);
        if (flags.stream().mapToInt(TensorSerializers::bit).sum() != bits) {
            throw new KryoException("a tensor has unknown flags: " + bits);
        }
        return flags;
    }

    private static int bit(Flag flag) {
        return switch (flag) {
            case REQUIRES_GRAD -> 1;
            case CONJ -> 2;
            case NEG -> 4;
        };
    }

    private static void write(Output output, DType dtype) {
        byte[] name = dtype.name().getBytes(UTF_8);
        output.writeByte(name.length);
        output.writeBytes(name);
    }

    private static DType readDType(Input input) {
        return DType.of(new String(input.readBytes(input.readByteUnsigned()), UTF_8));
    }

    private static void write(Output output, Shape shape) {
        output.writeByte(shape.rank());
        for (long size : shape.toArray()) {
            output.writeVarLong(size, true);
        }
    }

    private static Shape readShape(Input input) {
        return Shape.of(readLongs(input, input.readByteUnsigned()));
    }

    private static long[] readLongs(Input input, int count) {
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = input.readVarLong(true);
        }
        return values;
    }

    // ---- storages ----

    private void writeStorage(Kryo kryo, Output output, Storage storage) {
        Graph graph = Graph.of(kryo);
        Integer number = graph.written.get(storage);
        if (number != null) {
            output.writeVarInt(KINDS + number, true);
            return;
        }
        if (writePart(kryo, output, storage)) {
            return;
        }
        if (storage.base().isPresent()) {
            output.writeVarInt(SLICE, true);
            writeStorage(kryo, output, storage.base().get());
            output.writeVarLong(storage.sliceOffset(), true);
            output.writeVarLong(storage.nbytes(), true);
        } else if (storage.isMeta()) {
            output.writeVarInt(META, true);
            output.writeVarLong(storage.nbytes(), true);
        } else if (shared == Shared.HANDLES && !storage.isDecodedOnDemand() && storage.isShared()) {
            byte[] handle = SharedStorageHandle.of(storage).toString().getBytes(UTF_8);
            output.writeVarInt(HANDLE, true);
            output.writeVarInt(handle.length, true);
            output.writeBytes(handle);
        } else {
            output.writeVarInt(BYTES, true);
            output.writeVarLong(storage.nbytes(), true);
            writeBytes(output, storage);
        }
        graph.written.put(storage, graph.written.size());
    }

    private static void writeBytes(Output output, Storage storage) {
        if (storage.device().isCpu()) {
            try (BorrowedBytes bytes = storage.borrow()) {
                // Nothing finds damage of a file in a copy.
                bytes.storage().checkBytes(0, storage.nbytes());
                writePieces(output, bytes.storage());
            }
        } else {
            writePieces(output, storage);
        }
    }

    private static void writePieces(Output output, Storage storage) {
        byte[] piece = new byte[(int) Math.min(storage.nbytes(), PIECE)];
        storage.forEachPart(0, storage.nbytes(), (_, part) -> {
            for (long at = 0; at < part.byteSize();) {
                int size = (int) Math.min(piece.length, part.byteSize() - at);
                MemorySegment.copy(part, JAVA_BYTE, at, piece, 0, size);
                output.writeBytes(piece, 0, size);
                at += size;
            }
        });
    }

    private Storage readStorage(Kryo kryo, Input input) throws IOException {
        Graph graph = Graph.of(kryo);
        return graph.parts == null ? readStorage(graph, input, false) : readPart(graph.parts, input, Storage.class);
    }

    private Storage readStorage(Graph graph, Input input, boolean isBase) throws IOException {
        int kind = input.readVarInt(true);
        if (kind >= KINDS && kind - KINDS < graph.read.size()) {
            return graph.read.get(kind - KINDS);
        }
        Storage storage = switch (kind) {
            case BYTES -> readBytes(graph, input);
            case META -> Storage.meta(input.readVarLong(true));
            case SLICE -> {
                if (isBase) {
                    throw new KryoException("a slice is the base of a slice");
                }
                Storage base = readStorage(graph, input, true);
                yield base.slice(input.readVarLong(true), input.readVarLong(true));
            }
            case HANDLE -> open(input);
            default -> throw new KryoException("a storage of kind " + kind + " where there were " + graph.read.size());
        };
        graph.read.add(storage);
        return storage;
    }

    private void writeTyped(Kryo kryo, Output output, TypedStorage typed) {
        writeStorage(kryo, output, typed.untyped());
        write(output, typed.dtype());
    }

    private TypedStorage readTyped(Kryo kryo, Input input) throws IOException {
        return new TypedStorage(readStorage(kryo, input), readDType(input));
    }

    private static TypedStorage copy(Kryo kryo, TypedStorage typed) {
        return new TypedStorage(kryo.copy(typed.untyped()), typed.dtype());
    }

    /// Reads the bytes of a storage. Memory that is allocated for bytes that have not been read is limited.
    private Storage readBytes(Graph graph, Input input) {
        long nbytes = input.readVarLong(true);
        if (nbytes < 0 || nbytes > maxBytes - graph.bytes) {
            throw new KryoException("a storage has " + nbytes + " bytes, where the limit for one graph is " + maxBytes
                    + " and " + graph.bytes + " were read");
        }
        graph.bytes += nbytes;
        Storage storage = Storage.allocate(Math.min(nbytes, Math.max(FIRST, input.limit() - input.position())));
        byte[] piece = new byte[(int) Math.min(nbytes, PIECE)];
        for (long done = 0; done < nbytes;) {
            if (done == storage.nbytes()) {
                storage.resize(Math.min(nbytes, done * GROWTH));
            }
            int size = (int) Math.min(piece.length, storage.nbytes() - done);
            input.readBytes(piece, 0, size);
            MemorySegment.copy(piece, 0, storage.segment(), JAVA_BYTE, done, size);
            done += size;
        }
        return storage;
    }

    private Storage open(Input input) throws IOException {
        if (shared != Shared.HANDLES) {
            throw new KryoException("a handle to shared memory; register(kryo, …, Shared.HANDLES) opens those of "
                    + "trusted processes");
        }
        int length = input.readVarInt(true);
        if (length < 0 || length > MAX_HANDLE) {
            throw new KryoException("a handle of " + length + " bytes");
        }
        return SharedStorageHandle.parse(new String(input.readBytes(length), UTF_8)).open();
    }

    private static Storage copy(Kryo kryo, Storage storage) {
        return storage.base().map(base -> kryo.copy(base).slice(storage.sliceOffset(), storage.nbytes()))
                .orElseGet(storage::copy);
    }

    // ---- parts of something else ----

    private static boolean writePart(Kryo kryo, Output output, Object part) {
        List<@Nullable Object> parts = Graph.of(kryo).parts;
        if (parts == null) {
            return false;
        }
        output.writeVarInt(parts.size(), true);
        parts.add(part);
        return true;
    }

    private static <T> T readPart(List<@Nullable Object> parts, Input input, Class<T> type) {
        int number = input.readVarInt(true);
        if (number < 0 || number >= parts.size() || !type.isInstance(parts.get(number))) {
            throw new KryoException("number " + number + " of " + parts.size() + " parts is no "
                    + type.getSimpleName());
        }
        return type.cast(parts.get(number));
    }

    /// The storages of one graph, by the order in which they are written or read. Kryo forgets it with its references.
    private static final class Graph {
        private final IdentityHashMap<Storage, Integer> written = new IdentityHashMap<>();
        private final List<Storage> read = new ArrayList<>();
        private long bytes;
        private @Nullable List<@Nullable Object> parts;

        @SuppressWarnings({"unchecked", "rawtypes"})
        static Graph of(Kryo kryo) {
            ObjectMap graphs = kryo.getGraphContext();
            Graph graph = (Graph) graphs.get(Graph.class);
            if (graph == null) {
                graph = new Graph();
                graphs.put(Graph.class, graph);
            }
            return graph;
        }
    }

    /// A serializer of one type.
    private static final class Of<T> extends Serializer<T> {
        private final String name;
        private final Writer<T> writer;
        private final Reader<T> reader;
        private final BiFunction<Kryo, T, T> copier;

        Of(String name, Writer<T> writer, Reader<T> reader, BiFunction<Kryo, T, T> copier) {
            this.name = name;
            this.writer = writer;
            this.reader = reader;
            this.copier = copier;
        }

        @Override
        public void write(Kryo kryo, Output output, T value) {
            writer.write(kryo, output, value);
        }

        @Override
        public T read(Kryo kryo, Input input, Class<? extends T> type) {
            try {
                return reader.read(kryo, input);
            } catch (KryoException e) {
                throw e;
            } catch (IOException | RuntimeException | OutOfMemoryError e) {
                throw new KryoException("cannot read a " + name + ": " + e.getMessage(), e);
            }
        }

        @Override
        public T copy(Kryo kryo, T original) {
            return copier.apply(kryo, original);
        }

        @FunctionalInterface
        private interface Writer<T> {
            void write(Kryo kryo, Output output, T value);
        }

        @FunctionalInterface
        private interface Reader<T> {
            T read(Kryo kryo, Input input) throws IOException;
        }
    }
}
