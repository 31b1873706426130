package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.undercroft.mmap.Piece.ZeroPiece;
import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/// Opens a small file in a JVM that has not called the C library.
final class SmallFilePeer {
    private SmallFilePeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws Exception {
        Path path = Path.of(args[1]);
        String found = switch (args[0]) {
            case "windows" -> windows(path);
            case "cut" -> cut(path);
            case "interrupt" -> interrupt(path);
            case "collect" -> collect(path);
            case "stitched" -> stitched(path);
            default -> first(path);
        };
        System.out.println(found + " bound: " + Libc.hasBegun());
    }

    private static String windows(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
            Allocation one = file.window(0, 10);
            Allocation other = file.window(4, 10);
            other.segment().set(JAVA_BYTE, 1, (byte) 7);
            byte seen = one.segment().get(JAVA_BYTE, 5);
            one.free();
            other.free();
            return seen + " " + Files.readAllBytes(path)[5];
        }
    }

    private static String cut(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
            MemorySegment bytes = file.map(0, file.size());
            MappedFileContract.cut(path, 10);
            String thrown = "nothing";
            try {
                file.guard(() -> bytes.get(JAVA_BYTE, 90_000));
            } catch (TruncatedMappingException e) {
                thrown = e.getClass().getSimpleName();
            }
            Path other = Files.write(path.resolveSibling("other"), new byte[5]);
            Files.move(other, path, StandardCopyOption.ATOMIC_MOVE);
            return thrown + " current: " + file.isCurrent();
        }
    }

    /// An interrupt closes the channel of a thread that reads from it, for all threads.
    private static String interrupt(Path path) throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
            Thread interrupted = Thread.ofPlatform().start(() -> read(file, isOver));
            Thread interrupting = Thread.ofPlatform().start(() -> {
                while (!isOver.get()) {
                    interrupted.interrupt();
                }
            });
            for (int times = 0; times < 3000; times++) {
                file.read(0, MemorySegment.ofArray(new byte[50_000]));
            }
            isOver.set(true);
            interrupted.join();
            interrupting.join();
        }
        return "all read";
    }

    private static void read(MappedFile file, AtomicBoolean isOver) {
        try {
            while (!isOver.get()) {
                file.read(0, MemorySegment.ofArray(new byte[50_000]));
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String collect(Path path) throws Exception {
        WeakReference<Object> memory = forgotten(path);
        while (memory.get() != null) {
            System.gc();
            Thread.sleep(5);
        }
        return "collected";
    }

    /// The scope of the memory is reachable as long as the memory is not freed.
    private static WeakReference<Object> forgotten(Path path) throws IOException {
        return new WeakReference<>(MappedFile.open(path, MapMode.PRIVATE).map(0, 1000).scope());
    }

    private static String stitched(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
            MemorySegment range = file.map(List.of(file.piece(0, 65_536), new ZeroPiece(1L << 40),
                    file.piece(0, 65_536)));
            return range.get(JAVA_BYTE, 5) + " " + range.get(JAVA_BYTE, 1 << 20) + " "
                    + range.get(JAVA_BYTE, 65_536 + (1L << 40) + 5);
        }
    }

    private static String first(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
            return String.valueOf(file.map(0, 10).get(JAVA_BYTE, 5));
        }
    }
}
