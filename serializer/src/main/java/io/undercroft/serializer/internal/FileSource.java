package io.undercroft.serializer.internal;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.mmap.FileReadException;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/// A file as [io.undercroft.format] reads it: a small index is read, a large one mapped.
///
/// @param file the file
/// @param pulse run before every read; what it throws ends the reading
/// @param progress counts the bytes that were read, or null
public record FileSource(MappedFile file, Runnable pulse, @Nullable Progress progress) implements ByteSource {
    /// A file whose bytes are read directly.
    ///
    /// @param file the file
    public FileSource(MappedFile file) {
        this(file, () -> {}, null);
    }

    @Override
    public long size() throws IOException {
        return file.currentSize();
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        pulse.run();
        file.read(offset, into);
        if (progress != null) {
            progress.add(into.byteSize());
        }
    }

    @Override
    public OptionalLong failedAt(IOException failure) {
        return failure instanceof FileReadException read ? OptionalLong.of(read.offset()) : OptionalLong.empty();
    }

    @Override
    public void prepare(long offset, long length) throws IOException {
        if (file.source().isPresent()) {
            pulse.run();
            MappedFile.fetch(List.of(file.piece(offset, length)));
        }
    }

    @Override
    public Optional<MemorySegment> segment(long offset, long length) {
        return Optional.of(file.map(offset, length));
    }
}
