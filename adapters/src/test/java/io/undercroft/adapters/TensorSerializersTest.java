package io.undercroft.adapters;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.adapters.TensorSerializers.Shared;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.PeerJvm;
import io.undercroft.testsupport.Proc;
import io.undercroft.testsupport.TestData;
import io.undercroft.testsupport.Tries;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class TensorSerializersTest {
    /// More than reading a broken tensor costs, and far less than what a claimed size would.
    private static final long LITTLE = 4 << 20;
    private static final int FLIPS = 20_000;

    @TempDir
    private Path folder;

    /// What a program has.
    static final class Batch {
        int step;
        @Nullable
        Tensor input;
        @Nullable
        Object anything;
        @Nullable
        Storage storage;
        @Nullable
        TypedStorage typed;
        DType dtype = DType.FLOAT64;
        Shape shape = Shape.SCALAR;
    }

    private static Kryo kryo(boolean hasReferences) {
        return kryo(hasReferences, Long.MAX_VALUE, Shared.BYTES);
    }

    private static Kryo kryo(boolean hasReferences, long maxBytes, Shared shared) {
        Kryo kryo = new Kryo();
        kryo.setReferences(hasReferences);
        TensorSerializers.register(kryo, maxBytes, shared);
        kryo.register(ArrayList.class);
        kryo.register(Batch.class);
        return kryo;
    }

    private static byte[] bytes(Kryo kryo, Object graph) {
        try (Output output = new Output(64, -1)) {
            kryo.writeClassAndObject(output, graph);
            return output.toBytes();
        }
    }

    private static Object read(Kryo kryo, byte... bytes) {
        try (Input input = new Input(bytes)) {
            Object graph = kryo.readClassAndObject(input);
            assertThat(input.position()).isEqualTo(bytes.length);
            return graph;
        }
    }

    private static Tensor again(Tensor tensor) {
        return (Tensor) read(kryo(true), bytes(kryo(true), tensor));
    }

    private static List<?> again(boolean hasReferences, Object... elements) {
        byte[] bytes = bytes(kryo(hasReferences), new ArrayList<>(Arrays.asList(elements)));
        return (List<?>) read(kryo(hasReferences), bytes);
    }

    private static void assertIsSame(Tensor back, Tensor tensor) {
        assertThat(back.dtype()).isSameAs(tensor.dtype());
        assertThat(back.shape()).isEqualTo(tensor.shape());
        assertThat(back.stride()).isEqualTo(tensor.stride());
        assertThat(back.storageOffset()).isEqualTo(tensor.storageOffset());
        assertThat(back.flags()).isEqualTo(tensor.flags());
        assertThat(back.storage().contentEquals(tensor.storage())).isTrue();
        assertThat(back.storage()).isNotSameAs(tensor.storage());
    }

    @Test
    void tensorsOfAllTypesKeepTheirBits() {
        for (DType dtype : DType.values()) {
            Storage storage = Storage.copyOf(TestData.noise(96, 7));
            Tensor tensor = Tensor.of(storage, dtype, 1, Shape.of(2, 2), 2, 1);
            assertIsSame(again(tensor), tensor);
        }
    }

    @Test
    void stridesOffsetsFlagsAndShapesWithoutElementsAreKept() {
        Tensor tensor = Tensor.arange(DType.INT32, 24).view(2, 3, 4);
        Tensor complex = Tensor.zeros(DType.COMPLEX64, 3);
        List<Tensor> tensors = List.of(tensor, tensor.permute(2, 0, 1), tensor.select(0, 1), Tensor.scalar(2.5),
                tensor.narrow(2, 1, 2), Tensor.of(1f).expand(5, 3), Tensor.zeros(DType.INT8, 0, 7),
                Tensor.of(Storage.allocate(0), DType.INT64, 9, Shape.of(3, 0)), complex.conj(), complex.conj().neg(),
                tensor.withFlags(Set.of(Flag.REQUIRES_GRAD)), complex.withFlags(EnumSet.allOf(Flag.class)));
        for (Tensor each : tensors) {
            assertIsSame(again(each), each);
        }
    }

    @Test
    void tensorsAndSlicesOfOneStorageAreReadAsThoseOfOne() {
        for (boolean hasReferences : List.of(true, false)) {
            Tensor tensor = Tensor.arange(DType.FLOAT32, 12).view(3, 4);
            Storage storage = tensor.storage();
            Storage slice = storage.slice(16, 16);
            List<?> back = again(hasReferences, tensor.t(), storage, tensor, slice,
                    Tensor.of(slice, DType.FLOAT32, 1, Shape.of(2)), new TypedStorage(storage, DType.FLOAT32),
                    slice.slice(4, 8));
            Storage read = (Storage) back.get(1);
            assertThat(((Tensor) back.getFirst()).storage()).isSameAs(read);
            assertThat(((Tensor) back.get(2)).storage()).isSameAs(read);
            assertThat(((Tensor) back.get(4)).storage()).isSameAs(back.get(3));
            assertThat(((TypedStorage) back.get(5)).untyped()).isSameAs(read);
            assertThat(((Storage) back.get(3)).base()).containsSame(read);
            assertThat(((Storage) back.get(6)).base()).containsSame(read);
            assertThat(((Storage) back.get(6)).sliceOffset()).isEqualTo(20);
            ((Tensor) back.get(4)).setFloat(0, 42);
            assertThat(((Tensor) back.getFirst()).getFloat(1, 1)).isEqualTo(42);
        }
    }

    @Test
    void aTensorThatIsReferencedTwiceIsOneIfKryoHasReferences() {
        Tensor tensor = Tensor.of(1f, 2);
        List<?> one = again(true, tensor, tensor);
        assertThat(one.getFirst()).isSameAs(one.getLast());
        List<?> two = again(false, tensor, tensor);
        assertThat(two.getFirst()).isNotSameAs(two.getLast());
        assertThat(((Tensor) two.getFirst()).storage()).isSameAs(((Tensor) two.getLast()).storage());
    }

    @Test
    void theBytesOfAStorageAreWrittenOnce() {
        Tensor tensor = Tensor.zeros(DType.UINT8, 100_000);
        List<Object> graph = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            graph.add(tensor.narrow(0, i, 50_000));
        }
        assertThat(bytes(kryo(false), graph).length).isBetween(100_000, 101_000);
    }

    @Test
    void fieldsOfObjectsOfTheProgramAreRead() {
        Batch batch = new Batch();
        batch.step = 7;
        batch.input = Tensor.of(1f, 2, 3);
        batch.anything = batch.input.narrow(0, 1, 2);
        batch.storage = batch.input.storage();
        batch.typed = new TypedStorage(batch.storage, DType.INT32);
        batch.dtype = DType.BFLOAT16;
        batch.shape = Shape.of(4, 5);
        for (boolean hasReferences : List.of(true, false)) {
            Batch back = (Batch) read(kryo(hasReferences), bytes(kryo(hasReferences), batch));
            assertThat(back.step).isEqualTo(7);
            assertIsSame(back.input, batch.input);
            assertThat(back.storage).isSameAs(back.input.storage());
            assertThat(((Tensor) back.anything).storage()).isSameAs(back.storage);
            assertThat(back.typed).isEqualTo(new TypedStorage(back.storage, DType.INT32));
            assertThat(back.dtype).isSameAs(DType.BFLOAT16);
            assertThat(back.shape).isEqualTo(Shape.of(4, 5));
        }
    }

    @Test
    void aCopyHasCopiesOfItsStoragesEachOfThemOnce() {
        Tensor tensor = Tensor.of(1f, 2, 3);
        Storage slice = tensor.storage().slice(4, 8);
        List<?> copy = kryo(true).copy(new ArrayList<>(List.of(tensor.conj(), tensor.narrow(0, 1, 2), slice,
                new TypedStorage(tensor.storage(), DType.INT16), DType.INT8, Shape.of(3))));
        Tensor copied = (Tensor) copy.getFirst();
        assertIsSame(copied, tensor);
        assertThat(((Tensor) copy.get(1)).storage()).isSameAs(copied.storage());
        assertThat(((Storage) copy.get(2)).base()).containsSame(copied.storage());
        assertThat(((TypedStorage) copy.get(3)).untyped()).isSameAs(copied.storage());
        assertThat(copy.get(4)).isSameAs(DType.INT8);
    }

    @Test
    void metaStoragesHaveNoBytes() {
        Tensor meta = Tensor.meta(DType.FLOAT32, 1L << 40, 3);
        byte[] bytes = bytes(kryo(true), meta);
        assertThat(bytes).hasSizeLessThan(64);
        Tensor back = (Tensor) read(kryo(true), bytes);
        assertThat(back.storage().isMeta()).isTrue();
        assertThat(back.storage().nbytes()).isEqualTo(meta.storage().nbytes());
        assertThat(back.shape()).isEqualTo(meta.shape());
    }

    @Test
    void storagesOfManyPiecesPassThroughStreams() {
        Tensor tensor = Tensor.of(Storage.copyOf(TestData.noise((11 << 20) + 3, 5)), DType.UINT8, 0,
                Shape.of((11 << 20) + 3));
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        try (Output output = new Output(written, 1000)) {
            kryo(true).writeClassAndObject(output, tensor);
        }
        try (Input input = new Input(new ByteArrayInputStream(written.toByteArray()), 1000)) {
            assertIsSame((Tensor) kryo(true).readClassAndObject(input), tensor);
        }
    }

    /// Pages of anonymous memory that are only read take no memory.
    @Test
    @EnabledOnOs(OS.LINUX)
    void aStorageMayHaveMoreThan2GiB() {
        long nbytes = (2L << 30) + 1;
        long[] written = new long[1];
        OutputStream counting = new OutputStream() {
            @Override
            public void write(int single) {
                written[0]++;
            }

            @Override
            public void write(byte[] bytes, int from, int length) {
                written[0] += length;
            }
        };
        Storage storage = Storage.allocate(nbytes, AnonymousMemory.allocator());
        try (Output output = new Output(counting, 1 << 20)) {
            kryo(true).writeObject(output, storage);
        }
        storage.release();
        assertThat(written[0]).isBetween(nbytes, nbytes + 16);
    }

    @Test
    void tensorsOfACheckpointAreWrittenAndCompressedOnesStayCompressed() throws IOException {
        Path file = folder.resolve("coded.croft");
        Tensor zeros = Tensor.full(DType.FLOAT32, 0.5, 512, 512);
        Checkpoint.save(file, Map.of("w", zeros), SaveOptions.defaults().compress(Compression.ALONE));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Tensor tensor = checkpoint.tensor("w");
            assertIsSame(again(tensor), zeros);
            assertThat(tensor.storage().isMaterialized()).isFalse();
        }
    }

    @Test
    void whatWasWrittenBeforeIsForgottenUnlessKryoKeepsIt() {
        Tensor tensor = Tensor.zeros(DType.UINT8, 1000);
        Kryo kryo = kryo(false);
        assertThat(bytes(kryo, tensor)).isEqualTo(bytes(kryo, tensor)).hasSizeGreaterThan(1000);
        Kryo keeps = kryo(false);
        keeps.setAutoReset(false);
        byte[] first = bytes(keeps, tensor);
        byte[] second = bytes(keeps, tensor.view(10, 100));
        assertThat(second).hasSizeLessThan(50);
        Kryo reader = kryo(false);
        reader.setAutoReset(false);
        assertThat(((Tensor) read(reader, first)).storage()).isSameAs(((Tensor) read(reader, second)).storage());
    }

    @Test
    void aFreedStorageIsNotWritten() {
        Tensor tensor = Tensor.of(1f);
        tensor.storage().release();
        Kryo kryo = kryo(true);
        assertThatIllegalStateException().isThrownBy(() -> bytes(kryo, tensor)).withMessageContaining("freed");
        assertThat(bytes(kryo, Tensor.of(2f))).isEqualTo(bytes(kryo(true), Tensor.of(2f)));
    }

    @Test
    void classesKeepTheIdsThatTheProgramGave() {
        Kryo kryo = new Kryo();
        kryo.register(Tensor.class, 77);
        TensorSerializers.register(kryo);
        int next = kryo.getNextRegistrationId();
        TensorSerializers.register(kryo);
        assertThat(kryo.getNextRegistrationId()).isEqualTo(next);
        assertThat(kryo.getRegistration(Tensor.of(1f).getClass()).getId()).isEqualTo(77);
        assertThat(kryo.getRegistration(77).getType()).isEqualTo(Tensor.class);
    }

    // ---- hostile input ----

    /// Writes a storage and what a tensor has besides, without the class, and without references.
    private static byte[] crafted(Consumer<Output> parts) {
        try (Output output = new Output(64, -1)) {
            parts.accept(output);
            return output.toBytes();
        }
    }

    private static void storageOf(Output output, int nbytes) {
        output.writeVarInt(0, true);
        output.writeVarLong(nbytes, true);
        output.writeBytes(new byte[nbytes]);
    }

    private static void name(Output output, String name) {
        output.writeByte(name.length());
        output.writeBytes(name.getBytes(US_ASCII));
    }

    private static Tensor tensor(byte... bytes) {
        try (Input input = new Input(bytes)) {
            return kryo(false).readObject(input, Tensor.class);
        }
    }

    private static void assertRefused(String why, Consumer<Output> parts) {
        assertThatExceptionOfType(KryoException.class).isThrownBy(() -> tensor(crafted(parts)))
                .withMessageContaining(why);
    }

    private static void assertDescriptionRefused(String why, String dtype, int flags, long... rankAndRest) {
        assertRefused(why, output -> {
            storageOf(output, 8);
            name(output, dtype);
            output.writeByte(flags);
            output.writeVarLong(0, true);
            output.writeByte((int) rankAndRest[0]);
            Arrays.stream(rankAndRest, 1, rankAndRest.length).forEach(value -> output.writeVarLong(value, true));
        });
    }

    @Test
    void descriptionsThatFitNoStorageAreRefused() {
        assertDescriptionRefused("reach byte 12 of a storage of 8 bytes", "float32", 0, 1, 3, 1);
        assertDescriptionRefused("negative", "float32", 0, 1, -1, 1);
        assertDescriptionRefused("negative", "float32", 0, 1, 1, -1);
        long[] ranks = new long[131];
        ranks[0] = 65;
        assertDescriptionRefused("65 dimensions", "float32", 0, ranks);
        assertDescriptionRefused("float99", "float99", 0, 1, 1, 1);
        assertDescriptionRefused("unknown flags", "float32", 0x80, 1, 1, 1);
        assertDescriptionRefused("conjugates", "float32", 2, 1, 1, 1);
        assertDescriptionRefused("cannot read a tensor", "float32", 0, 2, 1L << 40, 1L << 40, 1, 1);
    }

    @Test
    void storagesThatCannotBeAreRefused() {
        assertRefused("kind 4", output -> output.writeVarInt(4, true));
        assertRefused("kind -1", output -> output.writeVarInt(-1, true));
        assertRefused("-1 bytes", output -> {
            output.writeVarInt(0, true);
            output.writeVarLong(-1, true);
        });
        assertRefused("cannot have", output -> {
            output.writeVarInt(1, true);
            output.writeVarLong(-1, true);
        });
        assertRefused("a slice is the base", output -> {
            for (int i = 0; i < 100_000; i++) {
                output.writeVarInt(2, true);
            }
        });
        assertRefused("a slice of 8 bytes from byte 1", output -> {
            output.writeVarInt(2, true);
            storageOf(output, 8);
            output.writeVarLong(1, true);
            output.writeVarLong(8, true);
        });
        assertRefused("opens those of trusted processes", output -> {
            output.writeVarInt(3, true);
            output.writeVarInt(5, true);
        });
    }

    @Test
    void aClaimedSizeAllocatesLittle() {
        byte[] claim = crafted(output -> {
            output.writeVarInt(0, true);
            output.writeVarLong(256 << 20, true);
            output.writeBytes(new byte[100]);
        });
        assertThatExceptionOfType(KryoException.class).isThrownBy(() -> tensor(claim));
        BufferPoolMXBean direct = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct")).findFirst().orElseThrow();
        long before = direct.getTotalCapacity();
        long heapBefore = Proc.allocatedByThisThread();
        assertThatExceptionOfType(KryoException.class).isThrownBy(() -> tensor(claim));
        try (Input input = new Input(new ByteArrayInputStream(claim), 16)) {
            Kryo kryo = kryo(false);
            assertThatExceptionOfType(KryoException.class).isThrownBy(() -> kryo.readObject(input, Tensor.class));
        }
        assertThat(Proc.allocatedByThisThread() - heapBefore).isLessThan(LITTLE);
        assertThat(direct.getTotalCapacity() - before).isLessThan(LITTLE);
    }

    @Test
    void theStoragesOfOneGraphHaveNoMoreBytesThanTheLimit() {
        List<Object> graph = new ArrayList<>(List.of(Tensor.zeros(DType.UINT8, 600), Tensor.zeros(DType.UINT8, 400),
                Tensor.meta(DType.UINT8, 1000)));
        byte[] bytes = bytes(kryo(true), graph);
        Kryo enough = kryo(true, 1000, Shared.BYTES);
        assertThat((List<?>) read(enough, bytes)).hasSize(3);
        assertThat((List<?>) read(enough, bytes)).hasSize(3);
        assertThatExceptionOfType(KryoException.class)
                .isThrownBy(() -> read(kryo(true, 999, Shared.BYTES), bytes))
                .withMessageContaining("has 400 bytes, where the limit for one graph is 999 and 600 were read");
        assertThatIllegalArgumentException().isThrownBy(() -> kryo(true, -1, Shared.BYTES));
    }

    private static byte[] several() {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
        return crafted(output -> {
            Kryo kryo = kryo(false);
            kryo.setAutoReset(false);
            kryo.writeObject(output, tensor.t());
            kryo.writeObject(output, tensor.select(0, 1));
            kryo.writeObject(output, new TypedStorage(tensor.storage().slice(4, 8), DType.INT16));
            kryo.writeObject(output, Tensor.meta(DType.COMPLEX64, 4).conj());
        });
    }

    private static void readSeveral(Kryo kryo, byte... bytes) {
        kryo.setAutoReset(false);
        try (Input input = new Input(bytes)) {
            kryo.readObject(input, Tensor.class);
            kryo.readObject(input, Tensor.class);
            kryo.readObject(input, TypedStorage.class);
            kryo.readObject(input, Tensor.class);
        } finally {
            kryo.reset();
        }
    }

    @Test
    void inputThatIsCutAnywhereIsRefused() {
        byte[] whole = several();
        Kryo kryo = kryo(false);
        readSeveral(kryo, whole);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatExceptionOfType(KryoException.class).isThrownBy(() -> readSeveral(kryo, cut));
        }
    }

    @Test
    void everyFlippedBitIsReadOrRefusedAtLittleCost() {
        byte[] whole = several();
        Kryo kryo = kryo(false, 1 << 16, Shared.BYTES);
        for (int bit = 0; bit < whole.length * Byte.SIZE; bit++) {
            byte[] flipped = whole.clone();
            flipped[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
            readOrRefused(kryo, flipped);
        }
        SplittableRandom random = new SplittableRandom(11);
        for (int i = 0; i < Tries.of(FLIPS); i++) {
            byte[] noise = whole.clone();
            for (int changes = random.nextInt(1, 6); changes > 0; changes--) {
                noise[random.nextInt(noise.length)] = (byte) random.nextInt();
            }
            readOrRefused(kryo, noise);
        }
    }

    private static void readOrRefused(Kryo kryo, byte... bytes) {
        long before = Proc.allocatedByThisThread();
        try {
            readSeveral(kryo, bytes);
        } catch (KryoException e) {
            assertThat(e).message().isNotEmpty();
        }
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(LITTLE);
    }

    // ---- handles ----

    @Test
    @EnabledOnOs(OS.LINUX)
    void aHandleToSharedMemoryOpensToTheSameStorage() {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 4096).shareMemory();
        Tensor other = Tensor.of(1f);
        Storage slice = tensor.storage().slice(64, 64);
        byte[] bytes = bytes(kryo(true, 100, Shared.HANDLES), new ArrayList<>(List.of(tensor, other, slice)));
        assertThat(bytes).hasSizeLessThan(512);
        List<?> back = (List<?>) read(kryo(true, 100, Shared.HANDLES), bytes);
        assertThat(((Tensor) back.getFirst()).storage()).isSameAs(tensor.storage());
        assertThat(tensor.storage().referenceCount()).isGreaterThan(1);
        assertThat(((Tensor) back.get(1)).storage()).isNotSameAs(other.storage());
        assertThat(((Storage) back.get(2)).base()).containsSame(tensor.storage());
        assertThatExceptionOfType(KryoException.class).isThrownBy(() -> read(kryo(true), bytes))
                .withMessageContaining("Shared.HANDLES");
        tensor.storage().release();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aHandleToMemoryThatIsGoneIsRefused() {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 16).shareMemory();
        byte[] bytes = bytes(kryo(true, 0, Shared.HANDLES), tensor);
        tensor.storage().release();
        assertThatExceptionOfType(KryoException.class).isThrownBy(() -> read(kryo(true, 0, Shared.HANDLES), bytes))
                .withMessageContaining("cannot read a tensor").withCauseInstanceOf(IOException.class);
        for (int length = 0; length < bytes.length; length++) {
            byte[] cut = Arrays.copyOf(bytes, length);
            assertThatExceptionOfType(KryoException.class)
                    .isThrownBy(() -> read(kryo(true, 0, Shared.HANDLES), cut));
        }
    }

    /// Reads a graph from a file, and changes an element of the memory that both processes have.
    static final class Peer {
        @SuppressWarnings("SystemOut")
        public static void main(String... arguments) throws IOException {
            List<?> back = (List<?>) read(kryo(true, 0, Shared.HANDLES),
                    Files.readAllBytes(Path.of(arguments[0])));
            Tensor row = (Tensor) back.getFirst();
            System.out.println(row.getFloat(2) + " " + (row.storage() == ((Tensor) back.getLast()).storage()));
            row.setFloat(2, 42);
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void anotherProcessSeesTheSameMemory() throws Exception {
        Tensor tensor = Tensor.arange(DType.FLOAT32, 12).view(3, 4).shareMemory();
        Path file = Files.write(folder.resolve("graph"), bytes(kryo(true, 0, Shared.HANDLES),
                new ArrayList<>(List.of(tensor.select(0, 1), tensor))));
        try (PeerJvm peer = PeerJvm.start(Peer.class, file.toString())) {
            assertThat(peer.lines()).containsExactly("6.0 true");
        }
        assertThat(tensor.getFloat(1, 2)).isEqualTo(42);
        tensor.storage().release();
    }
}
