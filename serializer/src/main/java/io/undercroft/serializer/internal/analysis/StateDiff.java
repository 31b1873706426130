package io.undercroft.serializer.internal.analysis;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.internal.analysis.ExtentComparison.Verdict;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The differences between two files: tensors, and the other values of their states.
public final class StateDiff {
    /// The number of bytes of each tensor that are compared at a time, unless one element has more.
    private static final long BLOCK = 1 << 19;

    private final NamedTensors a;
    private final NamedTensors b;
    private final boolean withStatistics;
    private final SequencedMap<String, String> pairs = new LinkedHashMap<>();
    private final List<String> onlyInA = new ArrayList<>();
    private final SequencedSet<String> onlyInB;
    private final List<Change> changes = new ArrayList<>();
    private final List<NotCompared> notCompared = new ArrayList<>();
    private final Set<List<String>> tiesOfA;
    private final Set<List<String>> tiesOfB;
    private final @Nullable ValueDiff values;

    /// A tensor that both files have and that differs.
    ///
    /// @param name its name in the first file
    /// @param other its name in the second file
    /// @param a the tensor of the first file
    /// @param b the tensor of the second file
    /// @param values whether elements differ; null if their dtypes or shapes do, and their elements were not compared
    /// @param statistics how much the elements differ; null if that was not requested, or they have no numbers, or
    ///     their shapes differ
    public record Change(String name, String other, Tensor a, Tensor b, @Nullable Boolean values,
            @Nullable ElementDifferences statistics) {
        /// {@return whether the dtypes differ}
        public boolean isOfOtherDType() {
            return !a.dtype().equals(b.dtype());
        }

        /// {@return whether the shapes differ}
        public boolean isOfOtherShape() {
            return !a.isSameSize(b);
        }
    }

    /// A tensor that both files have, and whose elements could not be compared.
    ///
    /// @param name its name in the first file
    /// @param other its name in the second file
    /// @param why the reason
    /// @param fault what is wrong with one of the files; null if nothing is
    public record NotCompared(String name, String other, String why, @Nullable FormatException fault) {}

    /// Compares.
    ///
    /// @param a the first file
    /// @param b the second file
    /// @param withStatistics whether to compute how much elements differ; otherwise reading a tensor ends with the
    ///     first difference
    /// @param budget the number of bytes of elements that may be read
    /// @param progress is called with bytes of the first file
    public StateDiff(NamedTensors a, NamedTensors b, boolean withStatistics, ElementBudget budget,
            ProgressListener progress) {
        this.a = a;
        this.b = b;
        this.withStatistics = withStatistics;
        this.onlyInB = new LinkedHashSet<>(b.tensors().keySet());
        pair();
        Set<List<String>> left = ties(a, pairs.sequencedKeySet().stream().map(name -> Map.entry(name, name)));
        Set<List<String>> right = ties(b, pairs.sequencedEntrySet().stream());
        this.tiesOfA = without(left, right);
        this.tiesOfB = without(right, left);
        compare(budget, progress);
        this.values = a.isPartial() || b.isPartial() ? null : new ValueDiff(a.checkpoint(), b.checkpoint());
    }

    /// {@return the other values that differ; nothing if only some tensors are compared}
    public Optional<ValueDiff> values() {
        return Optional.ofNullable(values);
    }

    /// {@return the names of tensors that only the first file has}
    public List<String> onlyInA() {
        return onlyInA;
    }

    /// {@return the names of tensors that only the second file has}
    public List<String> onlyInB() {
        return List.copyOf(onlyInB);
    }

    /// {@return the tensors that differ, in the order of the first file}
    public List<Change> changes() {
        return changes;
    }

    /// {@return the tensors whose elements could not be compared, in the order of the first file}
    public List<NotCompared> notCompared() {
        return notCompared;
    }

    /// {@return the tensors that share a storage in the first file only: groups of names in the first file}
    public Set<List<String>> tiesOfA() {
        return tiesOfA;
    }

    /// {@return the tensors that share a storage in the second file only: groups of names in the first file}
    public Set<List<String>> tiesOfB() {
        return tiesOfB;
    }

    /// {@return how many tensors are equal in dtype, shape and elements}
    public int equal() {
        return pairs.size() - changes.size() - notCompared.size();
    }

    /// {@return whether a difference was found}
    public boolean hasDifferences() {
        return !(onlyInA.isEmpty() && onlyInB.isEmpty() && changes.isEmpty() && tiesOfA.isEmpty()
                && tiesOfB.isEmpty() && (values == null || values.differences().isEmpty()));
    }

    public NamedTensors a() {
        return a;
    }

    public NamedTensors b() {
        return b;
    }

    // ---- names

    /// Finds which tensors have the same name: exactly, or else the same keys, or else a name that programs know.
    private void pair() {
        Map<String, String> found = new HashMap<>();
        for (String name : a.tensors().keySet()) {
            if (onlyInB.remove(name)) {
                found.put(name, name);
            }
        }
        if (found.size() < a.tensors().size() && !onlyInB.isEmpty()) {
            Map<String, String> others = new HashMap<>();
            Set<String> ambiguous = new HashSet<>();
            onlyInB.forEach(other -> otherNames(b, other).forEach(key -> {
                if (others.putIfAbsent(key, other) != null) {
                    ambiguous.add(key);
                }
            }));
            others.keySet().removeAll(ambiguous);
            for (String name : a.tensors().keySet()) {
                if (!found.containsKey(name)) {
                    otherNames(a, name).map(others::get).filter(Objects::nonNull).filter(onlyInB::remove).findFirst()
                            .ifPresent(other -> found.put(name, other));
                }
            }
        }
        a.tensors().keySet().forEach(name -> {
            String other = found.get(name);
            if (other == null) {
                onlyInA.add(name);
            } else {
                pairs.put(name, other);
            }
        });
    }

    private static Stream<String> otherNames(NamedTensors file, String name) {
        return Stream.concat(Stream.of(StateIndex.rawName(name)), file.aliases(name).stream()).distinct();
    }

    /// Returns the groups of tensors that share a storage, of those that both files have.
    private static Set<List<String>> ties(NamedTensors file, Stream<Map.Entry<String, String>> pairs) {
        Map<Storage, List<String>> groups = new LinkedHashMap<>();
        pairs.forEach(pair -> {
            groups.computeIfAbsent(tensorOf(file, pair.getValue()).storage(), _ -> new ArrayList<>(1))
                    .add(pair.getKey());
        });
        Set<List<String>> ties = new LinkedHashSet<>();
        groups.values().stream().filter(group -> group.size() > 1).forEach(ties::add);
        return ties;
    }

    /// Returns a tensor that a file has.
    public static Tensor tensorOf(NamedTensors file, String name) {
        return Objects.requireNonNull(file.tensors().get(name));
    }

    private static Set<List<String>> without(Set<List<String>> all, Set<List<String>> others) {
        Set<List<String>> rest = new LinkedHashSet<>(all);
        rest.removeAll(others);
        return rest;
    }

    // ---- elements

    private void compare(ElementBudget budget, ProgressListener progress) {
        ExtentComparison extents = new ExtentComparison(a.checkpoint(), b.checkpoint());
        long total = 0;
        for (String name : pairs.keySet()) {
            total = Sizes.sum(total, TensorBlocks.nbytes(tensorOf(a, name)));
        }
        long done = 0;
        try (Side left = new Side(); Side right = new Side()) {
            for (Map.Entry<String, String> pair : pairs.entrySet()) {
                Tensor ours = tensorOf(a, pair.getKey());
                long before = done;
                long all = total;
                compare(pair.getKey(), pair.getValue(), ours, tensorOf(b, pair.getValue()),
                        new Reader(extents, budget, left, right,
                                read -> progress.onProgress(Sizes.sum(before, read), all)));
                done = Sizes.sum(done, TensorBlocks.nbytes(ours));
                progress.onProgress(done, total);
            }
        }
    }

    private void compare(String name, String other, Tensor ours, Tensor theirs, Reader reader) {
        FormatException unreadable = Unreadable.why(ours).or(() -> Unreadable.why(theirs)).orElse(null);
        if (unreadable != null) {
            notCompared.add(new NotCompared(name, other, unreadable.what(), unreadable));
            return;
        }
        boolean comparesNumbers = withStatistics && ours.isSameSize(theirs);
        boolean isOfOneType = ours.dtype().equals(theirs.dtype()) && ours.isSameSize(theirs);
        if (!isOfOneType && !comparesNumbers) {
            changes.add(new Change(name, other, ours, theirs, null, null));
            return;
        }
        String obstacle = obstacle(ours, theirs);
        if (obstacle != null && isOfOneType) {
            notCompared.add(new NotCompared(name, other, obstacle, null));
            return;
        }
        try {
            boolean hasEqualBits = isOfOneType && (obstacle != null || reader.areEqual(ours, theirs));
            if (!hasEqualBits) {
                ElementDifferences statistics = withStatistics && obstacle == null
                        ? reader.differences(ours, theirs)
                        : null;
                changes.add(new Change(name, other, ours, theirs, isOfOneType ? true : null, statistics));
            }
        } catch (FormatException e) {
            notCompared.add(new NotCompared(name, other, e.what(), e));
        } catch (TooMuchException | MappingException e) {
            notCompared.add(new NotCompared(name, other, String.valueOf(e.getMessage()), null));
        }
    }

    /// Returns why elements cannot be read, or null.
    private static @Nullable String obstacle(Tensor ours, Tensor theirs) {
        if (ours.device().isMeta() && theirs.device().isMeta()) {
            return null;
        }
        return ours.device().isMeta() || theirs.device().isMeta()
                ? "on the device meta in one of the files, where it has no elements"
                : null;
    }

    /// Thrown when the elements of a tensor are more than the budget allows.
    private static final class TooMuchException extends RuntimeException {
        private static final long serialVersionUID = 1;

        TooMuchException(ElementBudget budget) {
            super(budget.refusal());
        }
    }

    /// The bytes of one file that are read: those of one storage, and copies of the part that is compared.
    private record Side(LastBorrowed borrowed, Scratch resolved, Scratch numbers) implements AutoCloseable {
        Side() {
            this(new LastBorrowed(), new Scratch(), new Scratch());
        }

        /// Returns a tensor whose elements are one run of bytes, valid until the next call.
        Tensor read(Tensor tensor) {
            return resolved.run(borrowed.checked(tensor));
        }

        @Override
        public void close() {
            borrowed.close();
            resolved.close();
            numbers.close();
        }
    }

    /// Compares the elements of tensors of two files, one storage of each at a time.
    ///
    /// @param read is called with the number of bytes of the tensor that were compared
    private record Reader(ExtentComparison extents, ElementBudget budget, Side left, Side right, LongConsumer read) {
        /// Returns whether two tensors of one dtype and shape have the same elements, bit for bit.
        boolean areEqual(Tensor ours, Tensor theirs) {
            if (ours.device().isMeta() || ours.numel() == 0) {
                return true;
            }
            Verdict verdict = extents.compare(ours, theirs);
            return verdict == Verdict.UNKNOWN
                    ? haveEqualSpans(ours, theirs) || forEachUnequal(ours, theirs, (_, _) -> false)
                    : verdict == Verdict.EQUAL;
        }

        /// Returns whether tensors that repeat stored elements in the same way have equal stored elements.
        private boolean haveEqualSpans(Tensor ours, Tensor theirs) {
            return ours.dtype().isByteSized() && ours.is(Flag.CONJ) == theirs.is(Flag.CONJ)
                    && ours.is(Flag.NEG) == theirs.is(Flag.NEG) && Arrays.equals(ours.stride(), theirs.stride())
                    && TensorBlocks.nbytes(ours) > TensorBlocks.span(ours)
                    && forEachUnequal(stored(ours), stored(theirs), (_, _) -> false);
        }

        private static Tensor stored(Tensor tensor) {
            return tensor.asStrided(Shape.of(TensorBlocks.span(tensor) / tensor.itemsize()), new long[]{1},
                    tensor.storageOffset());
        }

        /// Returns how much the numbers of two tensors of one shape differ, or null if they have no numbers.
        @Nullable
        ElementDifferences differences(Tensor ours, Tensor theirs) {
            long distinct = TensorBlocks.distinct(List.of(ours, theirs)).getFirst().numel();
            long times = distinct == 0 ? 1 : ours.numel() / distinct;
            ElementDifferences differences = new ElementDifferences(ours.numel(), times, left.numbers, right.numbers);
            try {
                forEachUnequal(ours, theirs, (one, other) -> {
                    differences.add(one, other);
                    return true;
                });
            } catch (UnsupportedOperationException _) {
                return null;
            }
            return differences;
        }

        /// Calls some work with the blocks whose elements are not equal bit for bit. Those that are equal by their
        /// digests are not read, and repetitions that both tensors have are read once.
        private boolean forEachUnequal(Tensor ours, Tensor theirs, Work work) {
            boolean isOfOneType = ours.dtype().equals(theirs.dtype());
            List<Tensor> distinct = TensorBlocks.distinct(List.of(ours, theirs));
            if (!budget.take(TensorBlocks.nbytes(distinct))) {
                throw new TooMuchException(budget);
            }
            long[] elements = new long[1];
            long most = Math.max(1, BLOCK / Math.max(ours.itemsize(), theirs.itemsize()));
            return TensorBlocks.forEach(distinct, most, blocks -> {
                read.accept(ours.dtype().nbytes(elements[0]));
                elements[0] += blocks.getFirst().numel();
                Tensor one = blocks.getFirst();
                Tensor other = blocks.getLast();
                if (isOfOneType && extents.compare(one, other) == Verdict.EQUAL) {
                    return true;
                }
                one = left.read(one);
                other = right.read(other);
                return (isOfOneType && Scratch.bytes(one).contentEquals(Scratch.bytes(other))) || work.run(one, other);
            });
        }

        private interface Work {
            boolean run(Tensor one, Tensor other);
        }
    }
}
