package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.StorageChunk;
import io.undercroft.serializer.Damage;
import java.util.List;
import java.util.SortedMap;
import java.util.stream.Stream;

/// A storage with chunks that fail their checksums, and the tensors that have bytes in one of them.
public final class DamagedStorage {
    private final Snapshot snapshot;
    private final List<StorageChunk> chunks;
    private final SortedMap<Integer, Span> spans;

    /// Describes damage.
    ///
    /// @param snapshot the snapshot in which it was found
    /// @param chunks the damaged chunks of one storage, at least one
    /// @param spans the spans of the tensors on that storage
    DamagedStorage(Snapshot snapshot, List<StorageChunk> chunks, SortedMap<Integer, Span> spans) {
        this.snapshot = snapshot;
        this.chunks = chunks;
        this.spans = spans;
    }

    /// {@return whether a tensor on the storage is hit}
    ///
    /// @param tensor its number
    public boolean hits(int tensor) {
        return chunks.stream().anyMatch(chunk -> hits(chunk, tensor));
    }

    private boolean hits(StorageChunk chunk, int tensor) {
        Span span = spans.get(tensor);
        return span != null && chunk.touches(span);
    }

    /// {@return the exception for access to damaged bytes}
    public FormatException refusal() {
        StorageChunk first = chunks.getFirst();
        String more = chunks.size() == 1 ? "" : " (the first of " + chunks.size() + ")";
        long offset = first.base() == ExtentRecord.THIS_FILE ? first.fileOffset() : FormatException.NO_OFFSET;
        List<Integer> hit = spans.keySet().stream().filter(this::hits).toList();
        return Rule.V14_CHECKSUM.broken(what(first) + more + "; it damages " + TensorNames.of(snapshot, hit), offset);
    }

    /// {@return each chunk, as listed in reports}
    public Stream<Damage> damages() {
        return chunks.stream().map(chunk -> Damage.of(
                TensorNames.of(snapshot, spans.keySet().stream().filter(tensor -> hits(chunk, tensor)).toList()),
                chunk.length(), Rule.V14_CHECKSUM.broken(what(chunk), chunk.fileOffset())));
    }

    private String what(StorageChunk chunk) {
        String base = chunk.base() == ExtentRecord.THIS_FILE
                ? ""
                : " in the file " + FormatException.quote(snapshot.base(chunk.base() - 1).path());
        return "the checksum of a chunk of storage " + chunk.storage() + base + " does not match";
    }
}
