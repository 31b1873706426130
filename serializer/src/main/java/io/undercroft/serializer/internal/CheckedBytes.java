package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Checksums;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.StorageChunk;
import io.undercroft.mmap.FileBacking;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Pages;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.spi.Backing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// The checksums of one mapped storage of a `.croft` file. Its chunks are compared when they are read as a whole, each
/// at most once: first in memory and then, if these differ, in the file, since a program may write to a copy-on-write
/// mapping. A chunk that is damaged in the file is refused unless memory has the undamaged bytes. Safe for any thread.
final class CheckedBytes implements FileBacking {
    private final int storage;
    private final StorageCheck check;
    private final MappedFile file;
    /// The files that contain chunks, by their numbers.
    private final Map<Integer, MappedFile> files;
    private final Allocation bytes;
    private final Function<StorageChunk, FormatException> refusal;
    private @Nullable List<StorageChunk> chunks;
    private final BitSet compared = new BitSet();

    /// The checksums of a storage of which no chunk was compared.
    ///
    /// @param storage its number
    /// @param check the chunks of the storages
    /// @param file the file that has the index
    /// @param files the files in which its chunks are; each is open for as long as the bytes are mapped
    /// @param bytes its bytes
    /// @param refusal the exception for a damaged chunk
    CheckedBytes(int storage, StorageCheck check, MappedFile file, Map<Integer, MappedFile> files, Allocation bytes,
            Function<StorageChunk, FormatException> refusal) {
        this.storage = storage;
        this.check = check;
        this.file = file;
        this.files = files;
        this.bytes = bytes;
        this.refusal = refusal;
    }

    @Override
    public boolean hasChecksums() {
        return true;
    }

    @Override
    public void checkNotCut() {
        bytes.backing().ifPresent(Backing::checkNotCut);
    }

    @Override
    public Optional<FilePiece> source(long start, long end) {
        return mapping().flatMap(mapped -> mapped.source(start, end));
    }

    @Override
    public boolean isUnwritten(long start, long end) {
        return mapping().filter(mapped -> mapped.isUnwritten(start, end)).isPresent();
    }

    private Optional<FileBacking> mapping() {
        return bytes.backing().filter(FileBacking.class::isInstance).map(FileBacking.class::cast);
    }

    /// Records that all chunks were compared.
    void setCompared() {
        int count = chunks().size();
        synchronized (compared) {
            compared.set(0, count);
        }
    }

    @Override
    public boolean matches(long start, long end, int crc32c) {
        List<StorageChunk> all = chunks();
        int number = firstEndingBehind(all, start);
        if (number == all.size()) {
            return false;
        }
        StorageChunk chunk = all.get(number);
        boolean matches = chunk.start() == start && chunk.end() == end && chunk.checksum() == crc32c;
        if (matches) {
            note(number);
        }
        return matches;
    }

    @Override
    public void check(long start, long end) {
        List<StorageChunk> all = chunks();
        for (int number = firstEndingBehind(all, start); number < all.size()
                && all.get(number).start() < end; number++) {
            if (!isCompared(number)) {
                compare(all.get(number));
                note(number);
            }
        }
    }

    private void compare(StorageChunk chunk) {
        MemorySegment mapped = bytes.segment().asSlice(chunk.start(), chunk.length());
        try {
            if (Checksums.crc32c(mapped) != chunk.checksum() && isDamaged(chunk)) {
                throw refusal.apply(chunk);
            }
        } catch (InternalError fault) {
            checkNotCut();
            Pages.guard(mapped, () -> {
                throw fault;
            });
        } catch (IOException e) {
            checkNotCut();
            throw new UncheckedIOException(e);
        }
    }

    private boolean isDamaged(StorageChunk chunk) throws IOException {
        ByteSource source = new FileSource(Objects.requireNonNull(files.get(chunk.base())));
        return StorageCheck.crc32c(chunk, source) != chunk.checksum();
    }

    private boolean isCompared(int number) {
        synchronized (compared) {
            return compared.get(number);
        }
    }

    private void note(int number) {
        synchronized (compared) {
            compared.set(number);
        }
    }

    private List<StorageChunk> chunks() {
        synchronized (compared) {
            if (chunks == null) {
                chunks = MappedAccess.guarded(file, () -> check.table(storage));
            }
            return chunks;
        }
    }

    /// {@return the number of the first chunk that ends after a byte} Runs of zeros that are in no file are between
    /// chunks.
    private static int firstEndingBehind(List<StorageChunk> chunks, long start) {
        return BinarySearch.first(chunks.size(), number -> chunks.get(number).end() > start);
    }
}
