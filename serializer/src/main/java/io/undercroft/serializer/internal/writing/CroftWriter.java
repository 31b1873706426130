package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.WriterLock;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.WritableByteChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// Saves states as `.croft` files.
public final class CroftWriter {
    private final Disk disk;

    /// A writer.
    ///
    /// @param disk the file system to write to
    public CroftWriter(Disk disk) {
        this.disk = disk;
    }

    /// Saves a state as a new file; see [io.undercroft.serializer.Checkpoint#save].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws IOException if writing fails; nothing is left behind
    public DedupReport save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return guarded(path, () -> replacing(path, () -> saveUnlocked(path, state, options)));
    }

    @FunctionalInterface
    interface Work<T> {
        T run() throws IOException;
    }

    /// Says what an interruption and a fault in mapped memory mean; the exceptions of the system say nothing.
    static <T> T guarded(Path path, Work<T> work) throws IOException {
        try {
            if (Thread.currentThread().isInterrupted()) {
                throw new ClosedByInterruptException();
            }
            return work.run();
        } catch (ClosedByInterruptException e) {
            throw unchanged(path, "the thread that saves was interrupted", e);
        } catch (InternalError e) {
            throw unchanged(path, "a file was truncated while it was mapped", e);
        }
    }

    private static IOException unchanged(Path path, String what, Throwable cause) {
        var failure = new FileSystemException(path.toString(), null, what + "; no file was made or changed");
        failure.initCause(cause);
        return failure;
    }

    /// Replaces a file under its lock, since somebody may be appending to it. A name that nobody has needs none.
    static <T> T replacing(Path path, Work<T> work) throws IOException {
        Path target = AtomicFile.target(path);
        if (!Files.isRegularFile(target)) {
            return work.run();
        }
        try (WriterLock _ = WriterLock.of(target)) {
            return work.run();
        }
    }

    private DedupReport saveUnlocked(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        int chunkLog2 = Long.numberOfTrailingZeros(options.chunkSize());
        try (NamedBases bases = NamedBases.open(options, AtomicFile.target(path), chunkLog2);
                AtomicFile file = AtomicFile.create(path, disk)) {
            StateWriter.Draft draft = StateWriter.write(state, options, bases,
                    Destination.ofNewFile(file, file.file(), chunkLog2));
            NewFile pages = new NewFile(file, chunkLog2, options.uuid().orElse(null));
            pages.add(draft.index(), draft.end(), timeMillis(options), options.message());
            pages.finish();
            file.commit();
            return draft.report();
        }
    }

    /// Writes a state as a sealed file; see [io.undercroft.serializer.CroftFile#stream].
    ///
    /// @param channel where the file goes; stays open
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws IOException if reading or writing fails; what was written is no file then
    public static DedupReport stream(WritableByteChannel channel, @Nullable Object state, SaveOptions options)
            throws IOException {
        int chunkLog2 = Long.numberOfTrailingZeros(options.chunkSize());
        try (NamedBases bases = NamedBases.open(options, null, chunkLog2)) {
            SealedFile file = new SealedFile(channel, options.uuid().orElseGet(UUID::randomUUID), chunkLog2);
            StateWriter.Draft draft = StateWriter.write(state, options, bases,
                    Destination.ofNewFile(file, null, chunkLog2));
            file.finish(draft.index(), draft.end(), timeMillis(options), options.message());
            return draft.report();
        }
    }

    static long timeMillis(SaveOptions options) {
        return options.time().map(Instant::toEpochMilli).orElse(0L);
    }

    /// Saves a state as the next snapshot of a file; see [io.undercroft.serializer.CroftFile#append].
    ///
    /// @param path the file
    /// @param state the root of the tree
    /// @param options what else to save, and how
    /// @return what became of the bytes
    /// @throws IOException if reading or writing fails; the file still has the snapshots it had
    public DedupReport append(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        return guarded(path, () -> {
            try (Appender appender = Appender.open(path, disk)) {
                return appender.append(state, options);
            }
        });
    }
}
