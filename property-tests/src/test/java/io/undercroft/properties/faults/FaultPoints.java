package io.undercroft.properties.faults;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/// What [WovenClasses] call before they call the system, or instead: counts the calls, lets one of them fail, and
/// records what they hold. One piece of work at a time is watched, which may have several threads.
public final class FaultPoints {
    private static final int EIO = 5;
    private static final int EINTR = 4;
    private static final int ENOMEM = 12;
    private static final long MAP_FIXED = 0x10;
    /// What is not refused, since what is released cannot be kept: the kernel closes a descriptor even if that fails.
    private static final Set<String> RELEASING = Set.of("close", "munmap");
    /// What fails for want of memory alone.
    private static final Set<String> MAPPING = Set.of("mmap", "mremap");
    private static final Set<String> ALLOCATING = Set.of("mmap", "mremap", "posix_fallocate", "memfd_create",
            "ftruncate");
    private static final Set<String> TRANSFERS = Set.of("pread", "pwrite");
    /// Calls that a signal cannot interrupt.
    private static final Set<String> WITHOUT_SIGNALS = Set.of("mmap", "munmap", "mremap", "close", "getpagesize",
            "geteuid", "mincore", "rename", "renameat2", "unlink", "link", "mkdir", "rmdir");

    private static final IdentityHashMap<Arena, Made> ARENAS = new IdentityHashMap<>();
    /// The ends of what `mmap` mapped, by the starts.
    private static final TreeMap<Long, Long> MAPPINGS = new TreeMap<>();
    private static final long PAGE = 4096;

    private static @Nullable FaultKind kind;
    private static int failing;
    private static int calls;
    private static @Nullable Thread caller;
    @SuppressWarnings("StaticAssignmentOfThrowable") // Its stack trace says where the call was.
    private static @Nullable Throwable place;

    private FaultPoints() {}

    /// A call of the current thread's work will fail.
    ///
    /// @param how how
    /// @param number which one, from 1; 0 for none of them
    @SuppressWarnings("StaticAssignmentOfThrowable")
    static synchronized void arm(FaultKind how, int number) {
        kind = how;
        failing = number;
        calls = 0;
        place = null;
        caller = Thread.currentThread();
    }

    /// From now on nothing fails.
    ///
    /// @return how many calls there were that could have failed in this way
    static synchronized int disarm() {
        kind = null;
        return calls;
    }

    /// {@return where the call was that failed, or null if none has}
    static synchronized @Nullable Throwable place() {
        return place;
    }

    /// {@return what is held: arenas that are open, and ranges of addresses that are mapped}
    static synchronized List<Object> held() {
        ARENAS.keySet().removeIf(arena -> !arena.scope().isAlive());
        List<Object> held = new ArrayList<>(ARENAS.values());
        MAPPINGS.forEach((start, end) -> held.add(List.of(start, end)));
        return held;
    }

    @SuppressWarnings("StaticAssignmentOfThrowable")
    private static synchronized boolean hits(FaultKind each, String site) {
        if (kind != each || ++calls != failing) {
            return false;
        }
        place = new Throwable(each + " at call " + failing + ": " + site);
        return true;
    }

    private static synchronized void interruptIfHit(String site) {
        if (hits(FaultKind.INTERRUPT, site) && caller != null) {
            caller.interrupt();
        }
    }

    private static IOException error(String site) {
        return new IOException("an error of the device in " + site);
    }

    /// Called before a method of the JDK that may throw an [IOException].
    ///
    /// @param site the method
    public static void call(String site) throws IOException {
        interruptIfHit(site);
        if (hits(FaultKind.IO_ERROR, site)) {
            throw error(site);
        }
    }

    /// Called after one that releases something.
    ///
    /// @param site the method
    public static void released(String site) throws IOException {
        if (hits(FaultKind.IO_ERROR, site)) {
            throw error(site);
        }
    }

    /// Called before memory is allocated.
    ///
    /// @param site what allocates it
    public static void memory(String site) {
        if (hits(FaultKind.OUT_OF_MEMORY, site)) {
            throw new OutOfMemoryError("no memory for " + site);
        }
    }

    /// Called before a function of the C library.
    ///
    /// @param declaration the function
    /// @param arguments its arguments, of which this may lower the number of bytes
    /// @return the error number that it fails with, or 0
    public static int nativeCall(String declaration, long[] arguments) {
        String name = name(declaration);
        interruptIfHit(name);
        if (!RELEASING.contains(name) && !MAPPING.contains(name) && hits(FaultKind.IO_ERROR, name)) {
            return EIO;
        }
        if (ALLOCATING.contains(name) && hits(FaultKind.OUT_OF_MEMORY, name)) {
            return ENOMEM;
        }
        if (!WITHOUT_SIGNALS.contains(name) && hits(FaultKind.SIGNAL, name)) {
            return EINTR;
        }
        if (TRANSFERS.contains(name) && arguments[2] > 1 && hits(FaultKind.SHORT, name)) {
            arguments[2] = part(arguments[2]);
        }
        return 0;
    }

    /// Called when such a function has returned.
    ///
    /// @param result what it returned
    /// @param declaration the function
    /// @param arguments its arguments
    public static synchronized void nativeResult(long result, String declaration, long[] arguments) {
        switch (name(declaration)) {
            case "mmap" -> {
                if ((arguments[3] & MAP_FIXED) == 0) {
                    MAPPINGS.put(result, result + arguments[1]);
                }
            }
            case "munmap" -> unmap(arguments[0], arguments[0] + arguments[1]);
            default -> {
            }
        }
    }

    private static void unmap(long start, long end) {
        for (long each : new HashSet<>(MAPPINGS.headMap(end).keySet())) {
            long last = MAPPINGS.get(each);
            if (last > start) {
                MAPPINGS.remove(each);
                if (each < start) {
                    MAPPINGS.put(each, start);
                }
                // What is left of the last page belongs to it.
                if (last >= end + PAGE) {
                    MAPPINGS.put(end, last);
                }
            }
        }
    }

    private static String name(String declaration) {
        String head = declaration.substring(0, declaration.indexOf('('));
        return head.substring(Math.max(head.lastIndexOf(' '), head.lastIndexOf('*')) + 1);
    }

    /// Called instead of [FileChannel#read(ByteBuffer, long)].
    public static int read(FileChannel channel, ByteBuffer target, long position) throws IOException {
        call("FileChannel.read");
        int limit = shorten(target, "FileChannel.read");
        try {
            return channel.read(target, position);
        } finally {
            target.limit(limit);
        }
    }

    /// Called instead of [FileChannel#write(ByteBuffer, long)].
    public static int write(FileChannel channel, ByteBuffer source, long position) throws IOException {
        call("FileChannel.write");
        int limit = shorten(source, "FileChannel.write");
        try {
            return channel.write(source, position);
        } finally {
            source.limit(limit);
        }
    }

    private static int shorten(ByteBuffer buffer, String site) {
        int limit = buffer.limit();
        if (buffer.remaining() > 1 && hits(FaultKind.SHORT, site)) {
            buffer.limit(buffer.position() + (int) part(buffer.remaining()));
        }
        return limit;
    }

    /// An odd part, that ends within what is read or written.
    private static long part(long size) {
        return Math.max(1, Math.min(size - 1, size / 2 | 1));
    }

    /// Called instead of [Arena#ofShared].
    public static Arena ofShared() {
        return watched(Arena.ofShared());
    }

    /// Called instead of [Arena#ofConfined].
    public static Arena ofConfined() {
        return watched(Arena.ofConfined());
    }

    private static synchronized Arena watched(Arena arena) {
        ARENAS.put(arena, new Made());
        return arena;
    }

    /// Where an arena was made. Equal to itself alone.
    private static final class Made {
        private final StackTraceElement[] trace = new Throwable().getStackTrace();

        @Override
        public String toString() {
            return "an arena made by " + Arrays.toString(Arrays.copyOfRange(trace, 3, Math.min(trace.length, 8)));
        }
    }
}
