package io.undercroft.serializer.internal.extents;

import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.UnknownSection;
import io.undercroft.serializer.internal.disk.DiskFile;
import io.undercroft.serializer.internal.disk.Sink;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The file to which a snapshot is written.
///
/// @param sink the sink for its bytes
/// @param source the source to read them from; null if there is none
/// @param uncached the file, if it is read past the page cache when its bytes are compared, or null
/// @param start the smallest offset of new bytes
/// @param chunkLog2 the logarithm of the chunk size in bytes
/// @param parent the snapshot before, or null in a new file
/// @param path its path, if it has a snapshot, of which storages to be saved may be mapped; null for a new file
/// @param free the ranges that the snapshot has to declare free
/// @param places the places of all extents of the snapshots in the file; those of new ones are added
public record Destination(Sink sink, @Nullable ByteSource source, @Nullable DiskFile uncached, long start,
        int chunkLog2,
        @Nullable Snapshot parent, @Nullable Path path, List<FreeRange> free, PlaceTable places) {
    /// {@return a new file}
    ///
    /// @param sink the sink for its bytes
    /// @param source the source to read them from; null if there is none
    /// @param chunkLog2 the logarithm of the chunk size in bytes
    public static Destination ofNewFile(Sink sink, @Nullable ByteSource source, int chunkLog2) {
        return new Destination(sink, source, null, FileLayout.DATA_START, chunkLog2, null, null, List.of(),
                new PlaceTable(0));
    }

    /// {@return the number of the commit to be made}
    public long sequence() {
        return parent == null ? 1 : parent.commit().sequence() + 1;
    }

    /// {@return the sections of the snapshot before that this version does not know, as far as the next one may have
    /// them too}
    public List<UnknownSection> unknownSections() {
        return parent == null
                ? List.of()
                : parent.unknownSections().stream().filter(UnknownSection::isSafeToCopy).toList();
    }

    /// Adds what the file has already.
    ///
    /// @param candidates the destination
    /// @throws IOException if it cannot be mapped
    public void addTo(ContentIndex candidates) throws IOException {
        if (source != null) {
            candidates.addFile(Place.THIS_FILE, source);
        }
        if (uncached != null) {
            candidates.readPastCache(uncached);
        }
        if (path != null) {
            candidates.mappedExtents().addFile(Place.THIS_FILE, mapped -> mapped.isAt(path));
        }
        if (parent != null) {
            candidates.addParent(parent);
        }
    }
}
