package io.undercroft.serializer.internal.analysis;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.disk.Target.Begun;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Path;

/// A file that is written from its first byte to its last and, as a checkpoint, appears under its name whole and
/// durable or not at all. For use by one thread.
public final class OutputFile extends OutputStream {
    private final Begun file;
    private long end;

    private OutputFile(Begun file) {
        this.file = file;
    }

    /// Starts a file.
    ///
    /// @param path its name; if it is a symbolic link, the file that it points to is replaced
    /// @return the file, empty
    /// @throws IOException if the directory is missing or not writable, or something other than a regular file has the
    ///     name
    public static OutputFile create(Path path) throws IOException {
        return new OutputFile(FileTarget.of(path, Disk.system()).begin(Creation.REPLACING, Replacing.ANY));
    }

    @Override
    public void write(int octet) throws IOException {
        write(new byte[]{(byte) octet});
    }

    /// {@inheritDoc}
    ///
    /// @throws ClosedByInterruptException if the thread was interrupted
    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
        file.write(end, MemorySegment.ofArray(bytes).asSlice(from, length));
        end += length;
    }

    /// Gives the file its name. Nothing may be written afterwards.
    ///
    /// @throws IOException if that fails; the message says whether the file of that name was changed
    public void commit() throws IOException {
        file.commit(() -> {});
    }

    /// Deletes the file unless it was committed.
    @Override
    public void close() throws IOException {
        file.close();
    }
}
