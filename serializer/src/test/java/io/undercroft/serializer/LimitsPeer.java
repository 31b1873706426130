package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/// A process that has no mappings or descriptors left, or only a few, and opens files all the same. It prints what the
/// failures said, or what is wrong.
final class LimitsPeer {
    private static final int STORAGES = 300;
    private static final int LENGTH = 5000;
    private static final int CHUNK = 1 << 16;
    private static final int STITCHED_CHUNKS = 64;
    /// The most first, so that what is loaded for a failure is there when no class can be loaded any more.
    private static final List<Integer> SPARE_MAPPINGS = List.of(160, 60, 20, 8, 4, 2, 1, 0);
    private static final int FREED = 200;
    /// What the JVM may map or open for itself meanwhile.
    private static final int NOISE = 12;

    /// A channel would collect garbage and sleep before it says that there is no mapping left.
    private static final MethodHandle MMAP = function("mmap", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
            ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
    private static final MethodHandle MUNMAP = function("munmap",
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    private static final int PROT_READ = 1;
    /// `MAP_SHARED | MAP_ANONYMOUS`: the system never makes one mapping of two that are shared.
    private static final int SHARED_ANONYMOUS = 0x21;

    private final Path folder;
    private final List<Path> files;
    /// Addresses of mappings that are there to take mappings away.
    private final Deque<Long> taken = new ArrayDeque<>();
    private final Set<String> failures = new TreeSet<>();

    private LimitsPeer(Path folder) throws IOException {
        this.folder = folder;
        this.files = write();
    }

    /// Runs it.
    ///
    /// @param args a folder, and what is exhausted: `mappings` or `descriptors`
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        LimitsPeer peer = new LimitsPeer(Path.of(args[0]));
        // So that all classes are loaded before there is nothing left.
        peer.openAll();
        peer.rehearse();
        System.out.println(args[1].equals("mappings") ? peer.withoutMappings() : peer.withoutDescriptors());
    }

    /// A file of many storages, one whose storage has chunks of two files in turn, and a set of both.
    private List<Path> write() throws IOException {
        Map<String, Object> many = new LinkedHashMap<>();
        for (int number = 0; number < STORAGES; number++) {
            many.put("w" + number, Tensor.of(noise(LENGTH, number)));
        }
        Path small = folder.resolve("many.croft");
        Checkpoint.save(small, many);
        byte[] stitched = noise(STITCHED_CHUNKS * CHUNK, 1);
        SaveOptions chunks = SaveOptions.defaults().chunkSize(CHUNK);
        Path base = folder.resolve("base.croft");
        Checkpoint.save(base, Map.of("w0", Tensor.of(stitched)), chunks);
        for (int chunk = 0; chunk < STITCHED_CHUNKS; chunk += 2) {
            stitched[chunk * CHUNK]++;
        }
        Path thin = folder.resolve("thin.croft");
        Checkpoint.save(thin, Map.of("w0", Tensor.of(stitched)), chunks.base(base));
        Path set = folder.resolve("all.croftset");
        ShardSet.save(set, List.of(small, thin));
        return List.of(small, thin, set);
    }

    private void openAll() throws IOException {
        for (Path file : files) {
            open(file, OpenOptions.defaults());
            open(file, OpenOptions.defaults().inMemory());
        }
    }

    private static void open(Path file, OpenOptions options) throws IOException {
        if (file.toString().endsWith("set")) {
            try (ShardSet set = ShardSet.open(file, options)) {
                set.shards().forEach(LimitsPeer::read);
            }
        } else {
            try (Checkpoint checkpoint = Checkpoint.open(file, options)) {
                read(checkpoint);
                checkpoint.verify();
            }
        }
    }

    private static void read(Checkpoint checkpoint) {
        for (String name : checkpoint.names()) {
            checkpoint.tensor(name).storage().get(0);
        }
    }

    /// Tries to open a file. Nothing is made of what is thrown before there is memory for it again.
    private @Nullable Throwable attempt(Path file, OpenOptions options) {
        try {
            open(file, options);
            return null;
        } catch (IOException | RuntimeException | Error e) {
            return e;
        }
    }

    /// {@return what is wrong with how an open ended, or null} What is thrown has to say what is missing.
    private @Nullable String fault(@Nullable Throwable thrown) {
        if (thrown == null) {
            return null;
        }
        String message = String.valueOf(thrown.getMessage());
        failures.add(thrown.getClass().getSimpleName() + ": " + message);
        boolean isTyped = thrown instanceof IOException || thrown instanceof UncheckedIOException
                || thrown instanceof FormatException
                || (thrown instanceof OutOfMemoryError && message.contains("raise the limits"));
        return isTyped ? null : "WRONG: " + thrown;
    }

    /// Fails as it would without mappings, so that what is needed for that is loaded.
    private void rehearse() throws IOException {
        try (MappedFile file = MappedFile.open(files.getFirst(), MapMode.READ_ONLY)) {
            fault(thrownBy(() -> file.map(List.of(file.piece(0, CHUNK), new Piece.ZeroPiece(1L << 50)))));
            fault(thrownBy(() -> AnonymousMemory.allocator().allocate(1L << 50)));
        }
        for (Path file : files) {
            fault(attempt(file, OpenOptions.defaults().inMemory(_ -> {
                throw new OutOfMemoryError("raise the limits");
            })));
        }
        for (int number = 0; number < FREED; number++) {
            takeOne();
            free(1);
        }
        fault(new FormatException("NONE", "nothing is wrong", FormatException.NO_OFFSET, "Go on"));
        failures.clear();
    }

    private static @Nullable Throwable thrownBy(Runnable work) {
        try {
            work.run();
            return null;
        } catch (RuntimeException | Error e) {
            return e;
        }
    }

    @SuppressWarnings("restricted")
    private static MethodHandle function(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }

    private String withoutMappings() throws IOException {
        take();
        for (int spare : SPARE_MAPPINGS) {
            for (Path file : files) {
                for (OpenOptions options : List.of(OpenOptions.defaults(), OpenOptions.defaults().inMemory())) {
                    free(spare);
                    long open = Proc.descriptors();
                    Throwable thrown = attempt(file, options);
                    int lost = spare - take();
                    free(FREED);
                    String wrong = fault(thrown);
                    if (wrong != null || lost > NOISE || Proc.descriptors() > open) {
                        return (wrong == null ? "WRONG: " + file : wrong) + ", with " + spare + " mappings left; "
                                + lost + " mappings and " + (Proc.descriptors() - open)
                                + " descriptors were not freed";
                    }
                    take();
                }
            }
        }
        free(taken.size());
        openAll();
        return failures.toString();
    }

    /// Takes all mappings that are left, and returns how many they were.
    private int take() {
        int before = taken.size();
        while (takeOne()) {
            // On to the next one.
        }
        return taken.size() - before;
    }

    private boolean takeOne() {
        try {
            long address = (long) MMAP.invokeExact(0L, 1L, PROT_READ, SHARED_ANONYMOUS, -1, 0L);
            return address != -1 && taken.add(address);
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private void free(int count) {
        try {
            for (int number = 0; number < count; number++) {
                int _ = (int) MUNMAP.invokeExact((long) taken.removeLast(), 1L);
            }
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private String withoutDescriptors() throws IOException {
        for (int spare = 0; spare < 8; spare++) {
            for (Path file : files) {
                long before = Proc.descriptors();
                long maps = Proc.mappings("");
                List<InputStream> taken = new ArrayList<>();
                Throwable thrown;
                try {
                    while (true) {
                        taken.add(Files.newInputStream(Path.of("/dev/null")));
                    }
                } catch (IOException _) {
                    for (int number = 0; number < spare; number++) {
                        taken.removeLast().close();
                    }
                    thrown = attempt(file, OpenOptions.defaults());
                } finally {
                    for (InputStream each : taken) {
                        each.close();
                    }
                }
                String wrong = fault(thrown);
                if (wrong != null) {
                    return wrong + ", with " + spare + " descriptors left";
                }
                if (Proc.descriptors() > before || Proc.mappings("") > maps + NOISE) {
                    return "WRONG: leaked " + (Proc.descriptors() - before) + " descriptors and "
                            + (Proc.mappings("") - maps)
                            + " mappings, with " + spare + " left";
                }
            }
        }
        openAll();
        return failures.toString();
    }

}
