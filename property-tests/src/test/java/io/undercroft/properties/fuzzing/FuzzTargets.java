package io.undercroft.properties.fuzzing;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.adapters.TensorSerializers;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.mmap.SharedStorageHandle;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.properties.Repository;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.damage.ForeignReading;
import io.undercroft.properties.damage.TorchZip;
import io.undercroft.properties.damage.TreeFile;
import io.undercroft.properties.formats.PickleSpecimens;
import io.undercroft.properties.formats.Specimen;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The targets, one for each kind of bytes that this project reads.
final class FuzzTargets {
    /// Of the choices of the seeds.
    private static final long SEED = 1;
    /// Small ones; those of compressed chunks are made.
    private static final List<String> GOLDEN = List.of("sealed", "numbers", "snapshots", "everything");
    private static final List<Class<?>> SERIALIZED = List.of(Tensor.class, Storage.class, TypedStorage.class,
            DType.class, Shape.class);

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private static final long LENGTH = 1000;
    private static final long MOST_STORED = 1 << 20;
    private static final String HANDLE = "undercroft:shm/name?nbytes=64&id=123";
    private static final String TENSOR = HANDLE
            + "&slice=4,32&dtype=complex64&shape=2,2&stride=2,1&offset=0&flags=conj";
    private static final String REGISTRY = """
            1.UNTIL_UNLINKED
            1.CREATOR.12-34-56.7
            2.HOLDER.12-34-56.8""";

    private final Scratch scratch;
    private final List<FuzzTarget> targets = new ArrayList<>();
    private @Nullable List<Specimen> specimens;

    private FuzzTargets(Scratch scratch) {
        this.scratch = scratch;
    }

    /// {@return the targets}
    ///
    /// @param scratch a place for the files that are read
    static List<FuzzTarget> all(Scratch scratch) throws IOException {
        Specimen.putCompanions(scratch);
        FuzzTargets made = new FuzzTargets(scratch);
        made.addFormats();
        made.addRecords();
        made.addParts();
        made.addTexts();
        made.add("http", HttpTarget::seeds, new HttpTarget());
        return made.targets;
    }

    private void add(String name, FuzzTarget.Seeds seeds, FuzzTarget.Reader reader) {
        targets.add(new FuzzTarget(name, seeds, reader));
    }

    /// Makes a file of an input.
    @FunctionalInterface
    private interface Maker {
        byte[] file(byte[] input) throws IOException;
    }

    private void addFile(String name, FuzzTarget.Seeds seeds, Maker maker) {
        add(name, seeds, input -> ForeignReading.glance(scratch.write("fuzzed", maker.file(input)),
                Arrays.hashCode(input)));
    }

    /// The files of others, as they are.
    private void addFormats() {
        for (CheckpointFormat format : Checkpoint.formats()) {
            if (!format.name().startsWith("croft")) {
                addFile(format.name(), () -> files(format.name()), input -> input);
            }
        }
    }

    private List<byte[]> files(String format) throws IOException {
        // Made when they are needed: what a fuzzer starts needs none.
        List<Specimen> all = specimens == null ? Specimen.all(SEED, scratch) : specimens;
        specimens = all;
        List<byte[]> files = new ArrayList<>();
        for (Specimen specimen : all) {
            if (specimen.format().equals(format)) {
                files.add(specimen.bytes());
            }
        }
        return files;
    }

    /// Records of an archive of TorchScript, with checksums that fit.
    private void addRecords() throws IOException {
        Map<String, byte[]> script = TorchZip.records(PickleSpecimens.script().bytes());
        for (String name : script.keySet()) {
            String last = name.substring(name.lastIndexOf('/'));
            if (last.endsWith(".pkl") || last.endsWith(".py")) {
                addFile("torch-zip" + last, () -> records(last), input -> {
                    Map<String, byte[]> changed = new LinkedHashMap<>(script);
                    changed.put(name, input);
                    return TorchZip.archive(changed);
                });
            }
        }
    }

    private List<byte[]> records(String suffix) throws IOException {
        List<byte[]> records = new ArrayList<>();
        for (byte[] archive : files("torch-zip")) {
            TorchZip.records(archive).forEach((name, record) -> {
                if (name.endsWith(suffix)) {
                    records.add(record);
                }
            });
        }
        return records;
    }

    /// The parts of `.croft` files and sets, with checksums that fit.
    private void addParts() throws IOException {
        List<byte[]> files = goldenFiles();
        addFile("croft", FuzzTargets::goldenFiles, input -> input);
        addFile("croft coded", () -> new ArrayList<>(List.of(coded())), input -> input);
        addFile("croft tree", () -> {
            List<byte[]> trees = new ArrayList<>();
            for (byte[] file : files) {
                trees.add(TreeFile.tree(file));
            }
            return trees;
        }, input -> TreeFile.change(files.getFirst(), _ -> input));
        // The first byte chooses the file.
        addFile("croft index", () -> {
            List<byte[]> indexes = new ArrayList<>();
            for (byte[] file : files) {
                ByteArrayOutputStream index = new ByteArrayOutputStream();
                index.write(indexes.size());
                index.writeBytes(TreeFile.index(file));
                indexes.add(index.toByteArray());
            }
            return indexes;
        }, input -> input.length == 0
                ? input
                : TreeFile.withIndex(files.get(Math.floorMod(input[0], files.size())),
                        Arrays.copyOfRange(input, 1, input.length)));
        add("croft set", () -> {
            List<byte[]> sets = new ArrayList<>();
            for (String name : List.of("set.croftset", "slices.croftset")) {
                sets.add(Files.readAllBytes(golden(name)));
            }
            return sets;
        }, FuzzTargets::readSet);
    }

    private static List<byte[]> goldenFiles() throws IOException {
        List<byte[]> files = new ArrayList<>();
        for (String name : GOLDEN) {
            files.add(Files.readAllBytes(golden(name + ".croft")));
        }
        return files;
    }

    /// {@return a file of compressed chunks, of which the second snapshot has differences}
    private byte[] coded() throws IOException {
        Path path = scratch.file("coded.croft");
        SaveOptions options = SaveOptions.defaults().compress(SaveOptions.Compression.AGAINST_BASE);
        Tensor tensor = Tensor.arange(DType.FLOAT32, LENGTH);
        Checkpoint.save(path, Map.of("w", tensor), options);
        tensor.narrow(0, 1, 1).fill(0.5);
        try (CroftFile file = CroftFile.open(path)) {
            file.commit(Map.of("w", tensor), options);
        }
        return Files.readAllBytes(path);
    }

    private static Path golden(String name) {
        return Repository.path("format-spec/src/test/resources/golden/" + name);
    }

    private static void readSet(byte[] input) throws IOException {
        MemorySegment bytes = MemorySegment.ofArray(input.clone());
        long end = bytes.byteSize() - Integer.BYTES;
        if (end >= 0) {
            bytes.set(INT, end, Checksums.crc32c(bytes.asSlice(0, end)));
        }
        refusing(FormatException.class, () -> {
            try {
                SetManifest.read(ByteSource.of(bytes), Limits.DEFAULT);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    /// What processes hand to each other.
    private void addTexts() {
        add("handle", () -> new ArrayList<>(List.of(HANDLE.getBytes(UTF_8), TENSOR.getBytes(UTF_8))), input -> {
            String text = new String(input, UTF_8);
            refusing(IllegalArgumentException.class, () -> assertThat(SharedStorageHandle.parse(text)).isNotNull());
            refusing(IllegalArgumentException.class, () -> assertThat(SharedTensorHandle.parse(text)).isNotNull());
        });
        add("registry", () -> new ArrayList<>(List.of(REGISTRY.getBytes(UTF_8))), FuzzTargets::readRegistry);
        Kryo kryo = new Kryo();
        kryo.setReferences(true);
        TensorSerializers.register(kryo, MOST_STORED, TensorSerializers.Shared.BYTES);
        // The first byte chooses the class.
        add("kryo", () -> {
            Tensor tensor = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
            List<byte[]> seeds = new ArrayList<>();
            for (Object object : List.of(tensor.t(), tensor.storage(), TypedStorage.of(DType.FLOAT32, 1.0, 2.0),
                    DType.INT8, Shape.of(2, 3))) {
                try (Output output = new Output(1 << 10, -1)) {
                    output.writeByte(seeds.size());
                    kryo.writeObject(output, object);
                    seeds.add(output.toBytes());
                }
            }
            return seeds;
        }, input -> {
            if (input.length > 0) {
                Input rest = new Input(input, 1, input.length - 1);
                Class<?> type = SERIALIZED.get(Math.floorMod(input[0], SERIALIZED.size()));
                refusing(KryoException.class, () -> kryo.readObject(rest, type));
                kryo.reset();
            }
        });
    }

    /// Reads lines as the names of files in the registry of shared memory, by a method that only its package sees.
    private static void readRegistry(byte[] input) {
        List<String> names = new String(input, UTF_8).lines().toList();
        try {
            Method reading = Class.forName("io.undercroft.mmap.internal.SegmentRecords$Entry")
                    .getDeclaredMethod("of", long.class, Collection.class);
            reading.setAccessible(true);
            reading.invoke(null, 1L, names);
        } catch (InvocationTargetException e) {
            throw new AssertionError(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void refusing(Class<? extends RuntimeException> refusal, Runnable reading) {
        try {
            reading.run();
        } catch (RuntimeException e) {
            if (!refusal.isInstance(e) || e.getMessage() == null || e.getMessage().isBlank()) {
                throw e;
            }
        }
    }
}
