package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Finding;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.StorageRecord;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/// Finds the tensors that damage of a file affects. For use by one thread.
final class DamageNames {
    private final Snapshot newest;
    private final Map<Long, Optional<Opened>> snapshots = new HashMap<>();

    private record Opened(Snapshot snapshot, StorageCheck check) {}

    DamageNames(Snapshot newest) {
        this.newest = newest;
    }

    /// {@return the damage with the names of the tensors that it hits}
    ///
    /// @param finding as the verifier found it
    Damage name(Finding finding) {
        Rule rule = finding.rule();
        return rule == null
                ? Damage.unread(where(finding), finding.offset(), finding.length())
                : Damage.of(where(finding), finding.length(), rule.broken(finding.what(), finding.offset()));
    }

    private String where(Finding finding) {
        String snapshot = finding.sequence() == Finding.WHOLE_FILE || finding.sequence() == newest.commit().sequence()
                ? ""
                : " of snapshot " + number(finding.sequence());
        return (finding.storage() == Finding.NO_STORAGE ? "the file" : tensors(finding)) + snapshot;
    }

    private long number(long sequence) {
        return snapshots.computeIfAbsent(sequence, this::open).map(opened -> CommitNumbers.of(opened.snapshot))
                .filter(number -> number != SnapshotInfo.UNKNOWN).orElse(sequence);
    }

    private String tensors(Finding finding) {
        String storage = "storage " + finding.storage();
        try {
            Optional<Opened> opened = snapshots.computeIfAbsent(finding.sequence(), this::open);
            if (opened.isEmpty()) {
                return storage;
            }
            List<Integer> hit = hit(opened.get(), finding);
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

    private static List<Integer> hit(Opened opened, Finding finding) {
        List<Span> ranges = ranges(opened.snapshot, finding);
        return opened.check.spans(finding.storage()).entrySet().stream()
                .filter(tensor -> ranges.stream().anyMatch(
                        range -> tensor.getValue().touches(range.start(), range.end())))
                .map(Map.Entry::getKey)
                .toList();
    }

    /// Returns the ranges of the storage that contain the damaged range of the file; there may be several.
    private static List<Span> ranges(Snapshot snapshot, Finding finding) {
        List<Span> ranges = new ArrayList<>();
        StorageRecord storage = snapshot.storage(finding.storage());
        long start = 0;
        for (int i = 0; i < storage.extentCount(); i++) {
            ExtentRecord extent = snapshot.extent(storage.firstExtent() + i);
            long from = Math.max(finding.offset() - extent.fileOffset(), 0);
            long to = Math.min(finding.offset() + finding.length() - extent.fileOffset(), extent.storedLength());
            if (extent.base() == finding.base() && from < to) {
                ranges.add(new Span(start + from, start + to));
            }
            start += extent.length();
        }
        return ranges;
    }
}
