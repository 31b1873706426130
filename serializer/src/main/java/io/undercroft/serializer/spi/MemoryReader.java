package io.undercroft.serializer.spi;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.loading.PieceReader;
import io.undercroft.serializer.internal.loading.SlabAllocator;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import java.io.UncheckedIOException;
import java.util.List;

/// Reads bytes of files into memory of this process: what a format does instead of mapping them if
/// [that was asked for][OpenOptions#inMemory]. Safe for any thread.
public final class MemoryReader {
    private final MappedFile file;
    private final MapMode mode;
    private final Allocator memory;

    /// A reader for the storages of a file.
    ///
    /// @param file the file
    /// @param options how it is opened
    public MemoryReader(MappedFile file, OpenOptions options) {
        this.file = file;
        this.mode = options.request().mapping();
        this.memory = options.request().memory().orElseGet(() -> new SlabAllocator(file.size()));
    }

    /// Reads pieces, one after the other, into one run of memory. Large ones are read by several threads.
    ///
    /// @param pieces what to read, of this and other files
    /// @return the bytes, which do not depend on the files; read-only if the file is opened so
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not that much memory; the message says how much of what
    public Allocation read(List<Piece> pieces) {
        return PieceReader.read(file, pieces, memory, mode);
    }

    /// Reads pieces as [#read], for a copy that is the caller's own.
    ///
    /// @param pieces what to read, of this and other files
    /// @return the bytes, which can be written to however the file is opened
    /// @throws UncheckedIOException if a file ends before, or reading fails
    /// @throws OutOfMemoryError if there is not that much memory; the message says how much of what
    public Allocation copy(List<Piece> pieces) {
        return PieceReader.read(file, pieces, memory, MapMode.PRIVATE);
    }
}
