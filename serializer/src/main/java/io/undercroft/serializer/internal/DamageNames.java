package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Damage;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Says of damage that was found in a file which tensors it hits. Belongs to one thread.
final class DamageNames {
    private final Snapshot newest;
    private final Map<Long, Optional<Opened>> snapshots = new HashMap<>();

    private record Opened(Snapshot snapshot, StorageCheck check) {}

    DamageNames(Snapshot newest) {
        this.newest = newest;
    }

    /// {@return the damage with the names of the tensors that it hits}
    ///
    /// @param damage as the verifier found it
    io.undercroft.serializer.Damage name(Damage damage) {
        return io.undercroft.serializer.Damage.of(where(damage), damage.length(),
                damage.rule().broken(damage.what(), damage.offset()));
    }

    private String where(Damage damage) {
        String snapshot = damage.sequence() == Damage.WHOLE_FILE || damage.sequence() == newest.commit().sequence()
                ? ""
                : " of snapshot " + number(damage.sequence());
        return (damage.storage() == Damage.NO_STORAGE ? "the file" : tensors(damage)) + snapshot;
    }

    private long number(long sequence) {
        return snapshots.computeIfAbsent(sequence, this::open).map(opened -> CommitNumbers.of(opened.snapshot))
                .filter(number -> number != SnapshotInfo.UNKNOWN).orElse(sequence);
    }

    private String tensors(Damage damage) {
        String storage = "storage " + damage.storage();
        try {
            Optional<Opened> opened = snapshots.computeIfAbsent(damage.sequence(), this::open);
            if (opened.isEmpty()) {
                return storage;
            }
            List<Integer> hit = hit(opened.get(), damage);
            return hit.isEmpty() ? storage : TensorNames.of(opened.get().snapshot, hit);
        } catch (FormatException _) {
            return storage;
        }
    }

    private Optional<Opened> open(long sequence) {
        try {
            Snapshot snapshot = newest.openAt(sequence);
            return Optional.of(new Opened(snapshot, new StorageCheck(snapshot)));
        } catch (FormatException | IOException _) {
            return Optional.empty();
        }
    }

    private static List<Integer> hit(Opened opened, Damage damage) {
        List<Span> ranges = ranges(opened.snapshot, damage);
        return opened.check.spans(damage.storage()).entrySet().stream()
                .filter(tensor -> ranges.stream().anyMatch(
                        range -> tensor.getValue().touches(range.start(), range.end())))
                .map(Map.Entry::getKey)
                .toList();
    }

    /// Where the damaged range of the file lies in the storage; it may lie there more than once.
    private static List<Span> ranges(Snapshot snapshot, Damage damage) {
        List<Span> ranges = new ArrayList<>();
        StorageRecord storage = snapshot.storage(damage.storage());
        long start = 0;
        for (int i = 0; i < storage.extentCount(); i++) {
            ExtentRecord extent = snapshot.extent(storage.firstExtent() + i);
            long from = Math.max(damage.offset() - extent.fileOffset(), 0);
            long to = Math.min(damage.offset() + damage.length() - extent.fileOffset(), extent.storedLength());
            if (extent.base() == damage.base() && from < to) {
                ranges.add(new Span(start + from, start + to));
            }
            start += extent.length();
        }
        return ranges;
    }
}
