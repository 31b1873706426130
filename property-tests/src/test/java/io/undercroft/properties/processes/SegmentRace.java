package io.undercroft.properties.processes;

import io.undercroft.properties.Scratch;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/// A program in which threads go on reading and writing through segments whose storage another thread frees, which is
/// wrong and must not hurt: they get [IllegalStateException]. It prints how often.
final class SegmentRace {
    private static final int READERS = 3;

    private final AtomicReference<MemorySegment> latest = new AtomicReference<>(MemorySegment.NULL);
    private final AtomicLong refused = new AtomicLong();
    private volatile boolean over;
    private volatile @Nullable Throwable failure;

    private SegmentRace() {}

    /// Races, and exits with 1 if a reader met something else than a refusal.
    ///
    /// @param arguments how many milliseconds to race
    public static void main(String... arguments) throws IOException, InterruptedException {
        new SegmentRace().run(Duration.ofMillis(Long.parseLong(arguments[0])));
    }

    private void run(Duration time) throws IOException, InterruptedException {
        Thread[] readers = new Thread[READERS];
        for (int i = 0; i < READERS; i++) {
            int kind = i;
            readers[i] = Thread.ofPlatform().start(() -> read(kind));
        }
        try (Scratch scratch = Scratch.make()) {
            freeAgainAndAgain(time, scratch.directory());
        } finally {
            over = true;
            for (Thread reader : readers) {
                reader.join();
            }
        }
        if (failure != null) {
            throw new AssertionError("a reader met something else than a refusal", failure);
        }
        System.out.println("refused " + refused.get() + " times");
    }

    private void freeAgainAndAgain(Duration time, Path directory) throws InterruptedException {
        long end = System.nanoTime() + time.toNanos();
        while (System.nanoTime() < end) {
            for (Backing backing : Backing.values()) {
                Allocation allocation = backing.allocate(1 << 20, directory);
                Storage storage = Storage.over(allocation);
                latest.set(storage.segment());
                Thread.sleep(1);
                storage.release();
            }
        }
    }

    private void read(int kind) {
        while (!over && failure == null) {
            MemorySegment segment = latest.get();
            try {
                use(kind, segment);
            } catch (IllegalStateException e) {
                refused.incrementAndGet();
            } catch (Throwable e) {
                failure = e;
            }
        }
    }

    private static void use(int kind, MemorySegment segment) {
        switch (kind) {
            case 0 -> segment.fill((byte) 1);
            case 1 -> MemorySegment.ofArray(new byte[Math.toIntExact(segment.byteSize())]).copyFrom(segment);
            default -> {
                for (long i = 0; i < segment.byteSize(); i += 64) {
                    segment.set(ValueLayout.JAVA_BYTE, i, segment.get(ValueLayout.JAVA_BYTE, i));
                }
            }
        }
    }
}
