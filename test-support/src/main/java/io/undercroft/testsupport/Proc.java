package io.undercroft.testsupport;

import com.sun.management.ThreadMXBean;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// What Linux and the JVM know about this process.
public final class Proc {
    private Proc() {}

    /// How many mappings mention the text; an empty text counts all.
    public static long mappings(String text) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(text)).count();
        }
    }

    /// What the mappings that mention the text allow, as `rw-s`.
    public static List<String> permissions(String text) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(text)).map(line -> line.split(" ", 3)[1]).toList();
        }
    }

    /// Whether an address is mapped.
    public static boolean isMapped(long address) throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.map(line -> line.substring(0, line.indexOf(' ')).split("-", 2))
                    .anyMatch(range -> Long.parseUnsignedLong(range[0], 16) <= address
                            && address < Long.parseUnsignedLong(range[1], 16));
        }
    }

    /// How many bytes of whole pages of the memory are there, and not to be made at the first touch.
    public static long presentBytes(MemorySegment segment) throws IOException {
        long page = 4096;
        long first = segment.address() / page;
        long count = Math.ceilDiv(segment.address() + segment.byteSize(), page) - first;
        try (FileChannel pagemap = FileChannel.open(Path.of("/proc/self/pagemap"))) {
            ByteBuffer entries = ByteBuffer.allocate(Math.toIntExact(count * Long.BYTES))
                    .order(ByteOrder.nativeOrder());
            while (entries.hasRemaining()) {
                int read = pagemap.read(entries, first * Long.BYTES + entries.position());
                if (read <= 0) {
                    throw new EOFException("the map of the pages ends early");
                }
            }
            entries.flip();
            // The highest bit says so, whether in memory or swapped out (the next).
            return LongStream.range(0, count).filter(_ -> entries.getLong() >>> 62 != 0).count() * page;
        }
    }

    /// How many descriptors are open.
    public static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }

    /// The files that are open, by what the links of the descriptors say.
    public static List<String> openFiles() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.flatMap(Proc::target).toList();
        }
    }

    private static Stream<String> target(Path descriptor) {
        try {
            return Stream.of(Files.readSymbolicLink(descriptor).toString());
        } catch (IOException _) {
            // It was that of the listing.
            return Stream.empty();
        }
    }

    /// How many bytes the system has copied for this thread, whether they came from the disk or not.
    public static long bytesReadByThisThread() throws IOException {
        return counter("rchar: ", Path.of("/proc/thread-self/io"));
    }

    /// How often this thread has read from a file.
    public static long readsByThisThread() throws IOException {
        return counter("syscr: ", Path.of("/proc/thread-self/io"));
    }

    /// How many bytes the system has copied for all threads, which may load classes meanwhile.
    public static long bytesReadByThisProcess() throws IOException {
        return counter("rchar: ", Path.of("/proc/self/io"));
    }

    private static long counter(String name, Path counters) throws IOException {
        try (Stream<String> lines = Files.lines(counters)) {
            return Long.parseLong(lines.filter(line -> line.startsWith(name)).findFirst().orElseThrow()
                    .substring(name.length()));
        }
    }

    /// How many bytes of memory of this process are there that no file backs, the heap among them.
    public static long anonymousBytes() throws IOException {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return 1024 * lines.filter(line -> line.startsWith("RssAnon:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).findFirst().orElseThrow();
        }
    }

    /// How many bytes this thread has allocated on the heap.
    public static long allocatedByThisThread() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }
}
