package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.Finding;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Span;
import io.undercroft.format.internal.StorageCheck;
import io.undercroft.format.internal.StorageChunk;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Reports of chunks of storages that fail their checksums, and of other damage of a file, with the names of the
/// tensors that it hits. Names are read when damage is reported. Safe for any thread.
public final class DamageNames {
    private static final int MOST_NAMED = 5;
    private static final String NO_TENSOR = "no tensor";
    /// The remedy for damage of a file that has bytes of this one.
    private static final Remedy OTHER_FILE = Remedy
            .of("Verify the other file first: if it is damaged, or not as it was "
                    + "when this one was saved, bring it as it was then");

    private final Snapshot snapshot;
    private final StorageCheck check;
    /// Those of other snapshots of the file, by their sequence numbers; nothing for those that cannot be opened.
    private final Map<Long, Optional<DamageNames>> others = new ConcurrentHashMap<>();

    /// The names of the tensors of a snapshot.
    ///
    /// @param snapshot the snapshot
    /// @param check its storages
    public DamageNames(Snapshot snapshot, StorageCheck check) {
        this.snapshot = snapshot;
        this.check = check;
    }

    /// {@return whether a damaged chunk has a byte of a tensor}
    ///
    /// @param chunks the damaged chunks of the storage of the tensor
    /// @param tensor its number
    public boolean isHit(List<StorageChunk> chunks, int tensor) {
        Optional<Span> span = Span.of(snapshot, tensor);
        return span.isPresent() && chunks.stream().anyMatch(chunk -> chunk.touches(span.get()));
    }

    /// {@return the exception for access to damaged bytes}
    ///
    /// @param chunks the damaged chunks of one storage, at least one
    public FormatException refusal(List<StorageChunk> chunks) {
        StorageChunk first = chunks.getFirst();
        String more = chunks.size() == 1 ? "" : " (the first of " + chunks.size() + ")";
        long offset = first.base() == ExtentRecord.THIS_FILE ? first.fileOffset() : FormatException.NO_OFFSET;
        return mismatch(otherFile(first), what(first) + more + "; it damages "
                + tensors(first.storage(), span -> chunks.stream().anyMatch(chunk -> chunk.touches(span))), offset);
    }

    /// @param base the file that may be damaged, as [StorageChunk#base]
    private static FormatException mismatch(int base, String what, long offset) {
        return base == ExtentRecord.THIS_FILE
                ? Rule.V14_CHECKSUM.broken(what, offset)
                : Rule.V14_CHECKSUM.broken(what, offset, OTHER_FILE);
    }

    /// {@return each chunk, as listed in reports}
    ///
    /// @param chunks the damaged chunks of one storage
    public Stream<Damage> damages(List<StorageChunk> chunks) {
        return chunks.stream().map(chunk -> Damage.of(tensors(chunk.storage(), chunk::touches), chunk.length(),
                mismatch(otherFile(chunk), what(chunk), chunk.fileOffset())));
    }

    private String what(StorageChunk chunk) {
        int other = otherFile(chunk);
        String relation = chunk.base() == other ? " in the file " : ", which is a difference from bytes of the file ";
        return "the checksum of a chunk of storage " + chunk.storage()
                + (other == ExtentRecord.THIS_FILE ? "" : relation + path(other)) + " does not match";
    }

    private String path(int base) {
        return FormatException.quote(snapshot.base(base - 1).path());
    }

    /// Returns the other file that has bytes of a chunk, or of its reference; or this file if there is none.
    private static int otherFile(StorageChunk chunk) {
        Coding coding = chunk.coding();
        return chunk.base() == ExtentRecord.THIS_FILE && coding != null ? coding.referenceBase() : chunk.base();
    }

    /// {@return a finding of the verifier as damage}
    ///
    /// @param finding what it found, in any snapshot of the file
    Damage of(Finding finding) {
        boolean isHere = finding.sequence() == Finding.WHOLE_FILE
                || finding.sequence() == snapshot.commit().sequence();
        Optional<DamageNames> names = isHere
                ? Optional.of(this)
                : others.computeIfAbsent(finding.sequence(), this::other);
        String where = finding.storage() == Finding.NO_STORAGE
                ? "the file"
                : names.map(each -> each.hit(finding)).orElse("storage " + finding.storage());
        String all = isHere
                ? where
                : where + " of snapshot " + names.map(each -> CommitNumbers.of(each.snapshot))
                        .filter(number -> number != SnapshotInfo.UNKNOWN).orElse(finding.sequence());
        Rule rule = finding.rule();
        if (rule == null) {
            return Damage.unread(all, finding.offset(), finding.length());
        }
        boolean isOfOther = rule == Rule.V14_CHECKSUM && finding.base() != ExtentRecord.THIS_FILE;
        return Damage.of(all, finding.length(), isOfOther
                ? mismatch(finding.base(), names.map(each -> finding.what() + " in the file "
                        + each.path(finding.base())).orElse(finding.what()), finding.offset())
                : rule.broken(finding.what(), finding.offset()));
    }

    private Optional<DamageNames> other(long sequence) {
        try {
            Snapshot opened = snapshot.openAt(sequence);
            return Optional.of(new DamageNames(opened, new StorageCheck(opened)));
        } catch (FormatException | IOException _) {
            return Optional.empty();
        }
    }

    private String hit(Finding finding) {
        String storage = "storage " + finding.storage();
        try {
            List<Span> ranges = ranges(finding);
            String tensors = tensors(finding.storage(),
                    span -> ranges.stream().anyMatch(range -> span.touches(range.start(), range.end())));
            return tensors.equals(NO_TENSOR) ? storage : tensors;
        } catch (FormatException _) {
            return storage;
        }
    }

    /// Returns the ranges of the storage that contain the damaged range of the file; there may be several.
    private List<Span> ranges(Finding finding) {
        List<Span> ranges = new ArrayList<>();
        long start = 0;
        for (ExtentRecord extent : snapshot.extents(finding.storage())) {
            Span bytes = bytesIn(finding.base(), extent);
            long from = Math.max(finding.offset(), bytes.start()) - bytes.start();
            long to = Math.min(finding.offset() + finding.length(), bytes.end()) - bytes.start();
            if (from < to) {
                // Damage of coded bytes can be anywhere in what they are decoded to.
                ranges.add(extent.coding() == null
                        ? new Span(start + from, start + to)
                        : new Span(start, start + extent.length()));
            }
            start += extent.length();
        }
        return ranges;
    }

    /// Returns the bytes of a file that an extent is made of, which may be those of its reference; or no bytes.
    private static Span bytesIn(int base, ExtentRecord extent) {
        Coding coding = extent.coding();
        if (extent.base() == base) {
            return new Span(extent.fileOffset(), extent.fileOffset() + extent.storedLength());
        }
        return coding != null && coding.hasReference() && coding.referenceBase() == base
                ? new Span(coding.referenceOffset(), coding.referenceOffset() + extent.length())
                : new Span(0, 0);
    }

    /// {@return a few tensors on a storage by name, and how many more there are}
    private String tensors(int storage, Predicate<Span> isHit) {
        List<Integer> hit = check.spans(storage).entrySet().stream().filter(tensor -> isHit.test(tensor.getValue()))
                .map(Map.Entry::getKey).toList();
        String named = hit.stream().limit(MOST_NAMED).map(this::name).collect(Collectors.joining(", "));
        return switch (hit.size()) {
            case 0 -> NO_TENSOR;
            case 1 -> "tensor " + named;
            default -> "tensors " + named
                    + (hit.size() > MOST_NAMED ? " and " + (hit.size() - MOST_NAMED) + " more" : "");
        };
    }

    /// A tensor may have no name, or one that is damaged.
    private String name(int tensor) {
        try {
            int name = snapshot.nameOfTensor(tensor);
            return name < 0 ? "number " + tensor : FormatException.quote(snapshot.name(name));
        } catch (FormatException _) {
            return "number " + tensor;
        }
    }
}
