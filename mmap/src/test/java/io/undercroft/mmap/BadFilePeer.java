package io.undercroft.mmap;

import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The other process, which is short of something: does one thing until it is refused, and tells what was said.
final class BadFilePeer {
    private BadFilePeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        Path path = Path.of(args[1]);
        List<AutoCloseable> held = new ArrayList<>();
        String refusal;
        warmUp(path);
        try {
            do {
                attempt(args[0], path, held);
            } while (args[0].startsWith("keep"));
            refusal = "not refused";
        } catch (IOException | RuntimeException e) {
            refusal = describe(e);
        }
        System.out.println(refusal);
        System.out.println(held.size());
        release(held);
    }

    /// So that no class has to be loaded when nothing can be opened or mapped any more.
    private static void warmUp(Path path) throws IOException {
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
