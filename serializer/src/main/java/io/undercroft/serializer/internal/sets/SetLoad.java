package io.undercroft.serializer.internal.sets;

import io.undercroft.format.internal.SetIndex;
import io.undercroft.format.internal.Span;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.MatchReport;
import io.undercroft.serializer.PartlyLoadedException;
import io.undercroft.serializer.StateMismatchException;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.internal.loading.CopyPlan;
import io.undercroft.serializer.internal.loading.StateMatch;
import io.undercroft.serializer.internal.loading.TensorCopy;
import io.undercroft.serializer.internal.sets.SetRead.Into;
import io.undercroft.serializer.internal.sets.SetRead.Plan;
import io.undercroft.serializer.internal.sets.ShardTensors.Piece;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Copies boxes of tensors of a set into the tensors of a state: first everything that may refuse, then the copies.
///
/// A tensor that has its memory for itself receives its elements from the shards. Two names of one tensor receive the
/// same bytes once. Tensors that overlap in any other way are put together in other memory first, to find out whether
/// each of them can have its elements. A tensor on a device is put together in slabs, of which each is copied to it.
final class SetLoad {
    private final SetFile set;
    private final SetRead read;
    private final List<Target> direct = new ArrayList<>();
    private final List<Target> overlapping = new ArrayList<>();
    private final List<Target> onDevices = new ArrayList<>();
    private final List<String> loaded = new ArrayList<>();
    private final List<String> begun = new ArrayList<>();

    /// A tensor of the state.
    ///
    /// @param names its names in the state
    /// @param plan the box that it receives
    /// @param tensor the tensor
    private record Target(List<String> names, Plan plan, Tensor tensor) {
        String name() {
            return names.getFirst();
        }

        Span span() {
            return copyOf(tensor).span();
        }

        Into into() {
            return new Into(plan, tensor);
        }

        /// A copy with its elements.
        TensorCopy copyOf(Tensor elements) {
            return new TensorCopy(name(), elements, tensor);
        }

        boolean isSameTensor(Target other) {
            return TensorCopy.memoryOf(tensor) == TensorCopy.memoryOf(other.tensor) && span().equals(other.span())
                    && TensorSpec.of(tensor).equals(TensorSpec.of(other.tensor))
                    && Arrays.equals(tensor.stride(), other.tensor.stride())
                    && tensor.flags().equals(other.tensor.flags());
        }
    }

    private SetLoad(SetFile set) {
        this.set = set;
        this.read = new SetRead(set);
    }

    /// Loads tensors; see [io.undercroft.serializer.ShardSet#loadInto].
    ///
    /// @param set the set
    /// @param tree the state, in which slices are nodes
    /// @param isStrict whether the set needs to have all tensors of the state
    /// @return the report of the comparison
    /// @throws IOException if reading fails; nothing was changed then
    static MatchReport run(SetFile set, @Nullable Object tree, boolean isStrict) throws IOException {
        return new SetLoad(set).run(ShardTensors.pieces(tree), isStrict);
    }

    private MatchReport run(Map<String, Piece> pieces, boolean isStrict) throws IOException {
        StateMatch match = match(pieces);
        MatchReport report = match.report();
        require(report, report.isLoadable() && (report.missing().isEmpty() || !isStrict));
        divide(targets(pieces, match.names()));
        read.requireOthers(Stream.concat(direct.stream(), overlapping.stream()).map(Target::into).toList());
        List<Tensor> aside = new ArrayList<>();
        try {
            CopyPlan plan = overlaps(aside);
            MatchReport complete = new MatchReport(report.missing(), report.unexpected(), report.mismatched(),
                    plan.conflicts());
            require(complete, plan.conflicts().isEmpty());
            carryOut(plan.copies());
            return complete;
        } finally {
            aside.forEach(tensor -> tensor.storage().release());
        }
    }

    private StateMatch match(Map<String, Piece> pieces) throws IOException {
        Map<String, TensorSpec> expected = new LinkedHashMap<>();
        pieces.forEach((name, piece) -> expected.put(name,
                new TensorSpec(piece.slice().local().dtype(), piece.slice().shape())));
        SetIndex index = set.index();
        Set<String> names = Set.copyOf(set.names());
        return StateMatch.compare(set.names(), set.lookup(),
                name -> index.find(name).filter(_ -> names.contains(name)).map(SetFile::spec), expected,
                StateMatch.canBeCopied());
    }

    private void require(MatchReport report, boolean isGood) {
        if (!isGood) {
            throw new StateMismatchException(set.location(), report, "Nothing was changed; load into tensors of the "
                    + "same shapes" + (report.isLoadable()
                            ? ", and leave out what the set does not have, or use ShardSet.loadMatching"
                            : ""));
        }
    }

    private List<Target> targets(Map<String, Piece> pieces, Map<String, String> names) throws IOException {
        List<Target> targets = new ArrayList<>();
        for (Map.Entry<String, Piece> each : pieces.entrySet()) {
            String found = names.get(each.getKey());
            if (found != null) {
                Tensor local = each.getValue().slice().local();
                TensorCopy.checkTarget(each.getKey(), local);
                targets.add(new Target(List.of(each.getKey()), set.plan(found, each.getValue().slice().offset(),
                        local.shape().toArray(), local.device()), local));
            }
        }
        read.look(targets.stream().map(Target::plan).toList());
        return targets;
    }

    // ---- overlaps ----

    private void divide(List<Target> targets) {
        Map<Storage, List<Target>> byMemory = new HashMap<>();
        for (Target target : targets) {
            if (target.tensor.numel() > 0) {
                byMemory.computeIfAbsent(TensorCopy.memoryOf(target.tensor), _ -> new ArrayList<>()).add(target);
            }
        }
        byMemory.values().forEach(this::divideMemory);
    }

    private void divideMemory(List<Target> all) {
        List<Target> sorted = new ArrayList<>(all);
        sorted.sort(Comparator.comparingLong(target -> target.span().start()));
        List<Target> cluster = new ArrayList<>();
        long end = 0;
        for (Target target : sorted) {
            if (target.span().start() >= end) {
                addCluster(cluster);
                cluster.clear();
            }
            cluster.add(target);
            end = Math.max(end, target.span().end());
        }
        addCluster(cluster);
    }

    /// Tensors of which each overlaps another one, by their spans; or a single tensor.
    private void addCluster(List<Target> cluster) {
        if (cluster.isEmpty()) {
            return;
        }
        Target first = cluster.getFirst();
        boolean isOneTensor = cluster.stream().skip(1).allMatch(
                other -> other.isSameTensor(first) && read.content(other.plan).equals(read.content(first.plan)));
        if (!isOneTensor) {
            overlapping.addAll(cluster);
            return;
        }
        List<String> names = cluster.stream().map(Target::name).toList();
        (first.tensor.device().isCpu() ? direct : onDevices).add(new Target(names, first.plan, first.tensor));
    }

    private CopyPlan overlaps(List<Tensor> aside) throws IOException {
        List<Into> reads = new ArrayList<>();
        List<TensorCopy> copies = new ArrayList<>();
        for (Target target : overlapping) {
            Tensor elements = Tensor.zeros(AnonymousMemory.allocator(), target.plan.dtype(),
                    target.tensor.shape().toArray());
            aside.add(elements);
            reads.add(new Into(target.plan, elements));
            copies.add(target.copyOf(elements));
        }
        read.copy(reads);
        return CopyPlan.of(copies);
    }

    // ---- copies ----

    private void carryOut(List<TensorCopy> overlaps) throws IOException {
        try {
            copyDirectly();
            for (TensorCopy copy : overlaps) {
                begun.add(copy.name());
                copy.run();
            }
            overlapping.forEach(target -> loaded.addAll(target.names));
            begun.clear();
            for (Target target : onDevices) {
                begun.addAll(target.names);
                read.inSlabs(target.plan, (elements, slab) -> new TensorCopy(target.name(), elements,
                        slab.in(target.tensor, target.plan.box())).run());
                begun.clear();
                loaded.addAll(target.names);
            }
        } catch (IOException | RuntimeException | Error e) {
            if (begun.isEmpty() && loaded.isEmpty()) {
                throw e;
            }
            throw new PartlyLoadedException(set.location(), loaded, begun, e);
        }
    }

    private void copyDirectly() throws IOException {
        try {
            read.copy(direct.stream().map(Target::into).toList());
        } finally {
            for (Target target : direct) {
                if (read.isDone(target.plan)) {
                    loaded.addAll(target.names);
                } else if (read.isBegun(target.plan)) {
                    begun.addAll(target.names);
                }
            }
        }
    }
}
