package io.undercroft.serializer.internal;

import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.ByteSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.OptionalLong;

/// A file whose bytes are counted when they are read.
///
/// @param source the file
/// @param progress counts them
record CountedSource(ByteSource source, Progress progress) implements ByteSource {
    /// {@return files whose bytes are counted when they are read}
    ///
    /// @param files the files
    /// @param progress counts them
    static BaseFiles of(BaseFiles files, Progress progress) {
        return base -> files.open(base).map(source -> new CountedSource(source, progress));
    }

    @Override
    public long size() throws IOException {
        return source.size();
    }

    @Override
    public void read(long offset, MemorySegment into) throws IOException {
        source.read(offset, into);
        progress.add(into.byteSize());
    }

    @Override
    public OptionalLong failedAt(IOException failure) {
        return source.failedAt(failure);
    }

    @Override
    public void prepare(long offset, long length) throws IOException {
        source.prepare(offset, length);
    }

    @Override
    public Optional<MemorySegment> segment(long offset, long length) throws IOException {
        return source.segment(offset, length);
    }
}
