package io.undercroft.serializer.internal.loading;

import io.undercroft.format.internal.Span;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.Storage;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Finds the copies that are needed, as tensors may use the same bytes, and those that contradict each other.
///
/// Copies that overlap are examined together. A copy is left out if another one writes the same bytes. If the others
/// overlap and have different sources, they are tried in scratch memory: if each tensor then has its elements, there is
/// no conflict.
public final class CopyPlan {
    private final List<TensorCopy> copies = new ArrayList<>();
    private final List<String> conflicts = new ArrayList<>();

    private CopyPlan() {}

    /// Makes a plan.
    ///
    /// @param wanted the copies
    /// @return those of them that are needed
    public static CopyPlan of(List<TensorCopy> wanted) {
        CopyPlan plan = new CopyPlan();
        Map<Storage, List<TensorCopy>> byMemory = new LinkedHashMap<>();
        for (TensorCopy copy : wanted) {
            if (copy.target().numel() > 0) {
                byMemory.computeIfAbsent(copy.memory(), _ -> new ArrayList<>()).add(copy);
            }
        }
        byMemory.values().forEach(plan::addMemory);
        return plan;
    }

    /// {@return the copies that are needed}
    public List<TensorCopy> copies() {
        return List.copyOf(copies);
    }

    /// {@return the names of tensors that cannot have all their elements}
    public List<String> conflicts() {
        return List.copyOf(conflicts);
    }

    private void addMemory(List<TensorCopy> all) {
        List<TensorCopy> sorted = new ArrayList<>(all);
        sorted.sort(Comparator.<TensorCopy>comparingLong(copy -> copy.span().start())
                .thenComparing(copy -> copy.span().end(), Comparator.reverseOrder()));
        List<TensorCopy> cluster = new ArrayList<>();
        long end = 0;
        for (TensorCopy copy : sorted) {
            if (copy.span().start() >= end) {
                addCluster(cluster);
                cluster.clear();
            }
            cluster.add(copy);
            end = Math.max(end, copy.span().end());
        }
        addCluster(cluster);
    }

    /// Copies of which each overlaps another one, by their spans; or a single copy.
    private void addCluster(List<TensorCopy> cluster) {
        List<TensorCopy> needed = new ArrayList<>();
        for (TensorCopy copy : cluster) {
            if (needed.stream().noneMatch(other -> brings(other, copy))) {
                needed.add(copy);
            }
        }
        if (isDoubtful(needed)) {
            rehearse(cluster);
        }
        copies.addAll(needed);
    }

    private static boolean brings(TensorCopy one, TensorCopy other) {
        return one.isSameAs(other) || (one.isOneRun() && one.isInStepWith(other) && contains(one.span(), other.span()));
    }

    private static boolean contains(Span outer, Span inner) {
        return outer.start() <= inner.start() && inner.end() <= outer.end();
    }

    private static boolean isDoubtful(List<TensorCopy> needed) {
        for (int i = 0; i < needed.size(); i++) {
            TensorCopy copy = needed.get(i);
            boolean alone = needed.subList(0, i).stream().noneMatch(
                    other -> other.span().touches(copy.span().start(), copy.span().end()) && !other.isInStepWith(copy));
            if (!alone || (copy.mayWriteTwice() && !copy.keepsBytes())) {
                return true;
            }
        }
        return false;
    }

    private void rehearse(List<TensorCopy> cluster) {
        Storage aside = Storage.allocate(cluster.getFirst().memory().nbytes(), AnonymousMemory.allocator());
        try {
            List<TensorCopy> tried = cluster.stream().map(copy -> copy.into(aside)).toList();
            tried.forEach(TensorCopy::run);
            tried.stream().filter(copy -> !copy.isDone()).map(TensorCopy::name).forEach(conflicts::add);
        } finally {
            aside.release();
        }
    }
}
