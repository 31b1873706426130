package io.undercroft.mmap.internal;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;
import io.undercroft.mmap.ReadAdvice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/// Mapped memory that the garbage collector unmaps. The system provides a zeroed page when it is first accessed.
///
/// The collector sees only small objects on the heap, so a program that allocates and drops much memory would use up
/// that of the host before it runs. As the JDK does for direct buffers, the size of all mappings is bounded by
/// `-XX:MaxDirectMemorySize`, and the collector is run at the bound. Direct buffers and memory that the JDK allocates
/// are counted by the JDK, apart from these mappings.
final class CollectedMemory {
    /// That of this process, or empty if its limit is unknown. Made on first use: reading the limit takes tens of
    /// milliseconds.
    static final Optional<CollectedMemory> OF_THIS_PROCESS = find();

    /// The pauses after a collection are 1, 2, 4 and so on up to this many milliseconds, about a second together.
    private static final long LONGEST_PAUSE = 512;

    private static final long HUGE_PAGE = 2 << 20;

    private final long limit;
    private final AtomicLong mapped = new AtomicLong();

    /// @param limit the most bytes that are mapped at the same time
    CollectedMemory(long limit) {
        this.limit = limit;
    }

    private static Optional<CollectedMemory> find() {
        try {
            VMOption option = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                    .getVMOption("MaxDirectMemorySize");
            return Optional.of(new CollectedMemory(option.getOrigin() == VMOption.Origin.DEFAULT
                    ? Runtime.getRuntime().maxMemory()
                    : Long.parseLong(option.getValue())));
        } catch (LinkageError | RuntimeException e) {
            // A runtime without the module jdk.management, or another JVM than HotSpot.
            return Optional.empty();
        }
    }

    /// Maps zeroed memory, in huge pages if the system has them. It aligns mappings of whole huge pages to them. A rest
    /// of less than half a huge page is in small pages.
    ///
    /// @param libc the library
    /// @param nbytes the size in bytes, more than 0
    /// @return the segment, on a page boundary
    /// @throws OutOfMemoryError if the limit is reached though unreachable memory was collected, or the system refuses
    MemorySegment allocate(Libc libc, long nbytes) {
        reserve(nbytes);
        try {
            MemorySegment pages = Mapping.anonymous(libc, Math.ceilDiv(nbytes, HUGE_PAGE) * HUGE_PAGE, Arena.ofAuto(),
                    () -> mapped.addAndGet(-nbytes));
            Mapping.advise(libc, pages.asSlice(0, (nbytes + HUGE_PAGE / 2) / HUGE_PAGE * HUGE_PAGE),
                    ReadAdvice.HUGE_PAGES);
            return pages.asSlice(0, nbytes);
        } catch (ErrnoException e) {
            mapped.addAndGet(-nbytes);
            throw none(nbytes, e);
        }
    }

    private void reserve(long nbytes) {
        boolean isInterrupted = false;
        try {
            for (long pause = 1; !isReserved(nbytes); pause *= 2) {
                if (nbytes > limit || pause > LONGEST_PAUSE) {
                    throw none(nbytes, null);
                }
                if (pause == 1) {
                    System.gc();
                }
                try {
                    Thread.sleep(pause);
                } catch (InterruptedException later) {
                    isInterrupted = true;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private boolean isReserved(long nbytes) {
        long before = mapped.get();
        while (nbytes <= limit - before) {
            if (mapped.compareAndSet(before, before + nbytes)) {
                return true;
            }
            before = mapped.get();
        }
        return false;
    }

    private OutOfMemoryError none(long nbytes, @Nullable Throwable cause) {
        OutOfMemoryError error = new OutOfMemoryError(
                nbytes + " bytes cannot be mapped (mapped: " + mapped + ", limit: " + limit + ")");
        error.initCause(cause);
        return error;
    }
}
