package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Coder;
import io.undercroft.format.internal.Coding;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.Piece.DecodedPiece;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.Allocation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Bytes of a storage that an extent is decoded to: all of them, or some.
///
/// @param coding the way in which the extent is coded
/// @param coded the coded bytes
/// @param reference the bytes that it was coded against, or null
/// @param size the number of bytes of the extent
/// @param start the first byte of it that belongs to the piece
/// @param length the number of bytes that do
/// @param isChecked whether decoded bytes are compared with a checksum: damaged ones are then read as zeros, so that
///     damage is found in the same way as that of other bytes
public record CodedPiece(Coding coding, FilePiece coded, @Nullable FilePiece reference, long size, long start,
        long length, boolean isChecked) implements DecodedPiece {
    @Override
    public List<FilePiece> runs() {
        return reference == null ? List.of(coded) : List.of(coded, reference);
    }

    @Override
    public void read(long from, MemorySegment into) throws IOException {
        if (into.byteSize() == size) {
            decode(into);
            return;
        }
        Allocation whole = AnonymousMemory.allocator().allocate(size);
        try {
            decode(whole.segment());
            into.copyFrom(whole.segment().asSlice(start + from, into.byteSize()));
        } finally {
            whole.free();
        }
    }

    private void decode(MemorySegment into) throws IOException {
        try (Coder coder = Coder.open()) {
            coder.decode(coding, bytes -> coded.file().read(coded.offset(), bytes), bytes -> {
                if (reference != null) {
                    reference.file().read(reference.offset(), bytes);
                }
            }, into, coded.offset());
        } catch (FormatException e) {
            if (!isChecked) {
                throw e.withFile(coded.file().location());
            }
            into.fill((byte) 0);
        }
    }
}
