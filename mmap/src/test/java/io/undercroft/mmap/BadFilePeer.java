package io.undercroft.mmap;

import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.mmap.internal.LinuxConstants;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The other process, which is short of something: does one thing after the other until it is refused, and prints for
/// each what was said and how much it has.
final class BadFilePeer {
    private static final int MAPPINGS_LEFT = 3000;

    private BadFilePeer() {}

    /// Runs it.
    ///
    /// @param args by turns what to do, and the file to do it to
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        warmUp(Path.of(args[1]));
        for (int i = 0; i < args.length; i += 2) {
            List<AutoCloseable> held = new ArrayList<>();
            String refusal = "not refused";
            try {
                do {
                    attempt(args[i], Path.of(args[i + 1]), held);
                } while (args[i].startsWith("keep"));
            } catch (IOException | RuntimeException e) {
                refusal = describe(e);
            }
            System.out.println(refusal);
            System.out.println(held.size());
            release(held);
        }
    }

    /// Takes most of the mappings that a process may have.
    private static void takeMappings() throws IOException {
        Libc libc = Libc.find().orElseThrow();
        long most = Long.parseLong(Files.readAllLines(Path.of("/proc/sys/vm/max_map_count")).getFirst());
        for (long taken = MAPPINGS_LEFT; taken < most; taken++) {
            // Neighbours of private memory would be one mapping.
            libc.mmap(0, 1, LinuxConstants.PROT_READ,
                    LinuxConstants.MAP_SHARED | LinuxConstants.MAP_ANONYMOUS, -1, 0);
        }
    }

    /// So that no class has to be loaded when nothing can be opened or mapped any more.
    private static void warmUp(Path path) throws IOException {
        // The first small file of a process is opened without the C library.
        var _ = Pages.size();
        Path file = Files.writeString(Files.createTempFile("undercroft", ""), "abc");
        try (MappedFile mapped = MappedFile.open(file, MapMode.PRIVATE)) {
            for (Runnable refused : List.<Runnable>of(() -> mapped.map(0, 1), () -> mapped.map(0, 4),
                    () -> mapped.map(List.of(new ZeroPiece(1L << 60))))) {
                try {
                    refused.run();
                } catch (MappingException e) {
                    describe(e);
                }
            }
            attempt("keep-open", path.resolve("not there"), List.of());
        } catch (IOException e) {
            describe(e);
        } finally {
            Files.delete(file);
        }
    }

    private static String describe(Exception e) {
        return e.getClass().getSimpleName() + " " + e.getMessage();
    }

    private static void attempt(String what, Path path, List<AutoCloseable> held) throws IOException {
        switch (what) {
            case "open-private" -> held.add(FileStorage.open(path, MapMode.PRIVATE)::release);
            case "open-shared" -> held.add(FileStorage.open(path, MapMode.SHARED)::release);
            case "create" -> held.add(FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(1 << 20))::release);
            case "keep-open" -> held.add(MappedFile.open(path, MapMode.READ_ONLY));
            case "keep-mapping" -> {
                if (held.isEmpty()) {
                    takeMappings();
                }
                MappedFile file = held.isEmpty() ? MappedFile.open(path, MapMode.PRIVATE) : (MappedFile) held.getLast();
                file.map(0, 1);
                held.add(file);
            }
            case "lock" -> Pages.lock(Storage.allocate(16 << 20, AnonymousMemory.allocator()).segment());
            default -> throw new IllegalArgumentException(what);
        }
    }

    private static void release(List<AutoCloseable> held) {
        for (AutoCloseable each : held) {
            try {
                each.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
