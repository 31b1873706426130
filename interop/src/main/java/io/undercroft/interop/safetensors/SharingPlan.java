package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.interop.safetensors.SharingMetadata.View;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/// The tensors of a state that are written, and the views that the others are of them.
///
/// @param written the tensors that are written, views too, by name
/// @param aliases further names of written tensors
/// @param views written tensors that use the storage of another written one; by name, whatever their order in the
///     state is
record SharingPlan(SequencedMap<String, Tensor> written, SequencedMap<String, String> aliases,
        SequencedMap<String, View> views) {
    /// Of how many tensors each pair is looked at.
    private static final int MOST_IN_PAIRS = 1 << 10;
    private static final String COPY = "set safetensors.sharing to copy, so that each is written for itself";

    /// {@return a plan that writes every tensor for itself}
    static SharingPlan copying(SequencedMap<String, Tensor> tensors) {
        return new SharingPlan(tensors, new LinkedHashMap<>(), new TreeMap<>());
    }

    /// {@return what this plan does not keep: the tensors that share a storage with others that are written apart from
    /// them, and for other libraries the aliases}
    List<Loss> losses() {
        Map<Storage, Set<String>> bases = new HashMap<>();
        written.forEach((name, tensor) -> {
            View view = views.get(name);
            if (tensor.numel() > 0) {
                bases.computeIfAbsent(tensor.storage(), _ -> new HashSet<>()).add(view == null ? name : view.base());
            }
        });
        List<String> apart = new ArrayList<>();
        written.forEach((name, tensor) -> {
            if (tensor.numel() > 0 && bases.getOrDefault(tensor.storage(), Set.of()).size() > 1) {
                apart.add(name);
            }
        });
        Set<String> first = Set.copyOf(apart);
        aliases.forEach((name, of) -> {
            if (first.contains(of)) {
                apart.add(name);
            }
        });
        Loss further = new Loss(Kind.METADATA_ONLY, aliases.size(), List.copyOf(aliases.keySet()),
                aliases.values().stream().map(of -> "a further name of " + FormatException.quote(of)).toList());
        return Stream.of(Loss.of(Kind.SHARING, apart), further).filter(loss -> loss.count() > 0).toList();
    }

    /// {@return a plan that keeps what tensors share}
    ///
    /// @param tensors the tensors by name
    /// @throws IllegalArgumentException if some have bytes in common that none of them covers, or if that would take
    ///     long to find out
    static SharingPlan keeping(SequencedMap<String, Tensor> tensors) {
        SharingPlan plan = copying(new LinkedHashMap<>());
        Map<Window, String> names = new HashMap<>();
        Map<Storage, List<Run>> runs = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> {
            String first = names.putIfAbsent(Window.of(tensor), name);
            if (first != null) {
                plan.aliases.put(name, first);
                return;
            }
            plan.written.put(name, tensor);
            if (tensor.numel() > 0) {
                Run run = Run.of(name, tensor);
                runs.computeIfAbsent(run.memory, _ -> new ArrayList<>()).add(run);
            }
        });
        runs.values().forEach(plan::addViews);
        return plan;
    }

    /// The identity of a tensor: two names with equal values of this type have the same tensor.
    private record Window(Storage storage, DType dtype, long offset, Shape shape, List<Long> stride, Set<Flag> flags) {
        static Window of(Tensor tensor) {
            return new Window(tensor.storage(), tensor.dtype(), tensor.storageOffset(), tensor.shape(),
                    strides(tensor), tensor.flags());
        }
    }

    /// Those of a dimension of size 1 may be any, and the file does not have those of a tensor that is no view.
    private static List<Long> strides(Tensor tensor) {
        boolean isPlain = tensor.numel() > 0 && tensor.isContiguous();
        long[] strides = isPlain ? tensor.shape().contiguousStride() : tensor.stride();
        return Arrays.stream(strides).boxed().toList();
    }

    /// The bytes between the first and the last that a tensor shows.
    private record Run(String name, Tensor tensor, Storage memory, long start, long end) {
        static Run of(String name, Tensor tensor) {
            Storage storage = tensor.storage();
            long base = storage.base().isPresent() ? storage.sliceOffset() : 0;
            long last = tensor.storageOffset();
            for (int dim = 0; dim < tensor.dim(); dim++) {
                last += (tensor.size(dim) - 1) * tensor.stride(dim);
            }
            long bits = tensor.dtype().bits();
            return new Run(name, tensor, storage.base().orElse(storage),
                    base + tensor.storageOffset() * bits / Byte.SIZE, base + tensor.dtype().nbytes(last + 1));
        }

        boolean covers(long from, long to) {
            return start == from && end == to && isPlain() && tensor.isContiguous();
        }

        /// Elements that are narrower than a byte may share one, whatever their strides are.
        boolean sharesBytesWith(Run other) {
            boolean meets = start < other.end && other.start < end;
            boolean isKnown = tensor.dtype().isByteSized() && other.tensor.dtype().isByteSized();
            return meets && (!isKnown || StrideOverlap.isPossible(tensor, other.tensor, other.start - start));
        }

        boolean canStandOn(Run base) {
            return isPlain() && (start - base.start) % tensor.itemsize() == 0;
        }

        private boolean isPlain() {
            return tensor.flags().isEmpty() && tensor.dtype().isByteSized();
        }
    }

    /// Finds the tensors on one storage whose runs overlap, in one sweep.
    private void addViews(List<Run> onOneStorage) {
        List<Run> sorted = new ArrayList<>(onOneStorage);
        sorted.sort(Comparator.comparingLong(Run::start));
        List<Run> group = new ArrayList<>();
        long end = 0;
        for (Run run : sorted) {
            if (!group.isEmpty() && run.start >= end) {
                addGroup(group);
                group.clear();
            }
            group.add(run);
            end = Math.max(end, run.end);
        }
        addGroup(group);
    }

    /// Tensors of which none covers another may still have no byte in common, such as columns of one matrix.
    private void addGroup(List<Run> group) {
        Optional<Run> base = base(group);
        if (base.isPresent() || group.size() > MOST_IN_PAIRS) {
            addViews(group, base.orElseThrow(() -> tooMany(group)));
        } else {
            parts(group).forEach(part -> addViews(part, base(part).orElseThrow(() -> unfit(part))));
        }
    }

    /// {@return the tensor that shows all bytes from the first to the last of a group, in their order, or is alone} Of
    /// several it is the first by name, so that what was opened is written as it was.
    private static Optional<Run> base(List<Run> group) {
        if (group.size() == 1) {
            return Optional.of(group.getFirst());
        }
        long start = group.stream().mapToLong(Run::start).min().orElseThrow();
        long end = group.stream().mapToLong(Run::end).max().orElseThrow();
        return group.stream().filter(run -> run.covers(start, end)).min(Comparator.comparing(Run::name));
    }

    /// Takes a group apart, so that tensors of different parts have no byte in common.
    private static List<List<Run>> parts(List<Run> group) {
        List<List<Run>> parts = new ArrayList<>();
        for (Run run : group) {
            List<Run> joined = new ArrayList<>();
            List<List<Run>> others = new ArrayList<>();
            for (List<Run> part : parts) {
                if (part.stream().anyMatch(run::sharesBytesWith)) {
                    joined.addAll(part);
                } else {
                    others.add(part);
                }
            }
            joined.add(run);
            others.add(joined);
            parts = others;
        }
        return parts;
    }

    private void addViews(List<Run> group, Run base) {
        for (Run run : group) {
            if (!run.name.equals(base.name)) {
                if (!run.canStandOn(base)) {
                    throw noView(run, base);
                }
                views.put(run.name, new View(base.name, run.start - base.start, strides(run.tensor)));
            }
        }
    }

    private static IllegalArgumentException tooMany(List<Run> group) {
        return new IllegalArgumentException(FormatException.quote(group.getFirst().name) + " and "
                + (group.size() - 1)
                + " other tensors use one storage among each other, too many to tell which share bytes; "
                + COPY);
    }

    private static IllegalArgumentException noView(Run run, Run base) {
        return new IllegalArgumentException(FormatException.quote(run.name) + " shares bytes with "
                + FormatException.quote(base.name)
                + ", but is conjugated, negated, of elements narrower than a byte, or begins amidst an element, which "
                + "a safetensors file cannot tell; "
                + COPY);
    }

    private static IllegalArgumentException unfit(List<Run> group) {
        Run last = group.getLast();
        Run other = group.stream().filter(run -> !run.name.equals(last.name) && run.sharesBytesWith(last)).findFirst()
                .orElse(group.getFirst());
        return new IllegalArgumentException(FormatException.quote(other.name) + " and "
                + FormatException.quote(last.name)
                + " share bytes, or may share some, in a way that a safetensors file cannot tell: no tensor covers "
                + "them in row-major order. "
                + "Add such a tensor, or " + COPY);
    }
}
