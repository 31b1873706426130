package io.undercroft.properties.sets;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Choices;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.ShardSet.Request;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/// A case in which a set of shards is to give what its writers had, whatever the layouts of writers and readers are.
///
/// Tensors are made, and divided by random grids: each axis into pieces of random sizes, and each piece for one or more
/// replicas. The writers take the pieces, each writer one of a tensor at most, and save their shards. Then readers with
/// other random boxes read, from files of the host and by ranges of a store, into new memory and into tensors that they
/// have, in other memory layouts and of other dtypes.
final class ShardedCase {
    private static final List<DType> DTYPES = List.of(DType.FLOAT32, DType.UINT8, DType.INT64, DType.BFLOAT16,
            DType.COMPLEX64, DType.BOOL);
    private static final int MOST_TENSORS = 4;

    private final Map<String, Tensor> whole = new LinkedHashMap<>();
    private final List<Map<String, Object>> writers = new ArrayList<>();
    private final List<Request> requests = new ArrayList<>();
    private final List<Destination> destinations = new ArrayList<>();
    private final StringBuilder story = new StringBuilder();
    private Choices choices = new Choices(List.of());

    /// Decides by numbers for each tensor, for each box that is read, and for the box of each tensor that is loaded.
    private ShardedCase(List<List<Integer>> tensors, List<List<Integer>> reads, List<List<Integer>> loads) {
        decide(tensors, () -> divide("layer-" + whole.size(), tensor()));
        List<String> names = List.copyOf(whole.keySet());
        decide(reads, () -> {
            requests.add(box(choices.of(names)));
            tell("read " + text(requests.getLast()));
        });
        Iterator<String> left = names.iterator();
        decide(loads.subList(0, Math.min(names.size(), loads.size())), () -> load(left.next()));
    }

    /// {@return cases of all kinds}
    static Arbitrary<ShardedCase> any() {
        return Combinators.combine(Choices.steps(1, MOST_TENSORS, 60), Choices.steps(1, 8, 12),
                Choices.steps(0, MOST_TENSORS, 20)).as(ShardedCase::new);
    }

    private void decide(List<List<Integer>> steps, Runnable decision) {
        for (List<Integer> numbers : steps) {
            choices = new Choices(numbers);
            decision.run();
        }
    }

    /// {@return what is written, read and loaded, a line for each}
    @Override
    public String toString() {
        return story.toString();
    }

    private void tell(String line) {
        story.append(line).append('\n');
    }

    private static String text(Request request) {
        return "%s from %s of %s".formatted(request.shape(), request.offset(), request.name());
    }

    /// Checks that readers see what the writers had.
    void check(Scratch scratch) throws IOException {
        List<Path> shards = new ArrayList<>();
        for (int writer = 0; writer < writers.size(); writer++) {
            shards.add(scratch.file(writer + ".croft"));
            Checkpoint.save(shards.getLast(), writers.get(writer), SaveOptions.defaults().run("law", writers.size()));
        }
        Path manifest = scratch.file("law.croftset");
        ShardSet.create(manifest, shards);
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(set.names()).containsExactlyElementsOf(whole.keySet());
            checkStoredOnce(set);
            checkRead(set);
            checkLoaded(set);
            whole.forEach((name, tensor) -> assertThat(set.tensor(name).contentEquals(tensor)).as(name).isTrue());
        }
        try (ShardSet set = ShardSet.open(CountedStore.uri(manifest))) {
            var _ = CountedStore.reads(scratch.directory());
            checkRead(set);
            checkReadOnce(scratch);
        }
        try (ShardSet set = ShardSet.open(CountedStore.uri(manifest))) {
            var _ = CountedStore.reads(scratch.directory());
            checkLoaded(set);
            checkReadOnce(scratch);
        }
    }

    private Tensor tensor() {
        DType dtype = choices.of(DTYPES);
        long[] sizes = new long[choices.below(4)];
        for (int dim = 0; dim < sizes.length; dim++) {
            sizes[dim] = choices.below(20) == 19 ? 0 : 1 + choices.below(9);
        }
        Shape shape = Shape.of(sizes);
        byte[] bytes = new byte[(int) dtype.nbytes(shape.numel())];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = dtype.equals(DType.BOOL) ? (byte) (i % 2) : (byte) (i * 37 + i / 251 + whole.size() * 11);
        }
        return Tensor.of(Storage.copyOf(bytes), dtype, 0, shape);
    }

    /// Gives each writer a piece, from a random one on.
    private void divide(String name, Tensor tensor) {
        whole.put(name, tensor);
        tell("%s is %s of %s".formatted(name, tensor.dtype(), tensor.shape()));
        List<long[]> offsets = new ArrayList<>();
        List<Tensor> pieces = new ArrayList<>();
        offsets.add(new long[tensor.dim()]);
        pieces.add(tensor);
        for (int dim = 0; dim < tensor.dim(); dim++) {
            cut(dim, offsets, pieces);
        }
        int replicas = 1 + choices.below(3);
        int writer = choices.below(2);
        for (int piece = 0; piece < pieces.size(); piece++) {
            for (int replica = 0; replica < replicas; replica++, writer++) {
                while (writers.size() <= writer) {
                    writers.add(new LinkedHashMap<>());
                }
                boolean isView = choices.yes();
                Tensor local = isView ? pieces.get(piece) : pieces.get(piece).copy();
                writers.get(writer).put(name,
                        Slice.of(local, tensor.shape(), offsets.get(piece)).replica(replica, replicas));
                tell("    writer %d has %s from %s, replica %d of %d, %s".formatted(writer, local.shape(),
                        Arrays.toString(offsets.get(piece)), replica, replicas, isView ? "a view" : "a copy"));
            }
        }
    }

    private void cut(int dim, List<long[]> offsets, List<Tensor> pieces) {
        long size = pieces.getFirst().size(dim);
        int count = 1 + choices.below((int) Math.min(3, Math.max(1, size)));
        List<Long> cuts = new ArrayList<>(List.of(0L));
        for (int i = 1; i < count; i++) {
            // Pieces without elements are slices, too.
            cuts.add(Math.min(size, cuts.getLast() + choices.below(4)));
        }
        cuts.add(size);
        List<long[]> before = List.copyOf(offsets);
        List<Tensor> whole = List.copyOf(pieces);
        offsets.clear();
        pieces.clear();
        for (int number = 0; number < whole.size(); number++) {
            for (int i = 0; i + 1 < cuts.size(); i++) {
                long[] offset = before.get(number).clone();
                offset[dim] = cuts.get(i);
                offsets.add(offset);
                pieces.add(whole.get(number).narrow(dim, cuts.get(i), cuts.get(i + 1) - cuts.get(i)));
            }
        }
    }

    /// A box, which may overlap others.
    private Request box(String name) {
        Shape shape = whole.get(name).shape();
        long[] offset = new long[shape.rank()];
        long[] size = new long[shape.rank()];
        for (int dim = 0; dim < offset.length; dim++) {
            offset[dim] = choices.below((int) shape.size(dim) + 1);
            size[dim] = choices.below((int) (shape.size(dim) - offset[dim]) + 1);
        }
        return new Request(name, offset, Shape.of(size), Device.CPU);
    }

    /// A box of a tensor, and the memory that it is loaded into.
    ///
    /// @param request the box
    /// @param memory the dtype and the sizes of a larger tensor, in its order in memory, which may be the opposite one
    /// @param isReversed whether it is
    private record Destination(Request request, TensorSpec memory, boolean isReversed) {}

    /// Perhaps, a box of a tensor and the memory for it.
    private void load(String name) {
        if (choices.below(4) == 3) {
            return;
        }
        Request request = box(name);
        DType own = whole.get(name).dtype();
        DType dtype = own.equals(DType.COMPLEX64) || choices.yes() ? own : DType.FLOAT64;
        boolean isReversed = choices.yes();
        long[] sizes = request.shape().toArray();
        for (int dim = 0; dim < sizes.length; dim++) {
            int place = isReversed ? sizes.length - 1 - dim : dim;
            sizes[place] = request.shape().size(dim) + choices.below(3);
        }
        destinations.add(new Destination(request, new TensorSpec(dtype, Shape.of(sizes)), isReversed));
        tell("load %s into %s of %s%s".formatted(text(request), dtype, Shape.of(sizes),
                isReversed ? ", reversed" : ""));
    }

    /// Loads boxes into the middle or the corner of larger tensors, whose other elements stay.
    private void checkLoaded(ShardSet set) {
        Map<String, Tensor> all = new LinkedHashMap<>();
        Map<String, Object> state = new LinkedHashMap<>();
        for (Destination each : destinations) {
            Tensor memory = Tensor.ones(each.memory.dtype(), each.memory.shape().toArray());
            all.put(each.request.name(), memory);
            long[] offset = each.request.offset().stream().mapToLong(Long::longValue).toArray();
            state.put(each.request.name(),
                    Slice.of(place(memory, each), whole.get(each.request.name()).shape(), offset));
        }
        assertThat(set.loadInto(state).unexpected()).hasSize(whole.size() - destinations.size());
        for (Destination each : destinations) {
            Tensor memory = all.get(each.request.name());
            Tensor place = place(memory, each);
            Tensor expected = expected(each.request).to(each.memory.dtype());
            assertThat(place.contentEquals(expected)).as("%s of %s", each, expected).isTrue();
            var _ = place.fill(1L);
            assertThat(memory.contentEquals(Tensor.ones(memory.dtype(), memory.shape().toArray()))).as("%s", each)
                    .isTrue();
        }
    }

    private static Tensor place(Tensor memory, Destination each) {
        Tensor place = memory;
        if (each.isReversed) {
            place = memory.permute(IntStream.range(0, memory.dim()).map(dim -> memory.dim() - 1 - dim).toArray());
        }
        for (int dim = 0; dim < place.dim(); dim++) {
            long size = each.request.shape().size(dim);
            place = place.narrow(dim, (place.size(dim) - size) / 2, size);
        }
        return place;
    }

    private Tensor expected(Request request) {
        Tensor expected = whole.get(request.name());
        for (int dim = 0; dim < request.shape().rank(); dim++) {
            expected = expected.narrow(dim, request.offset().get(dim), request.shape().size(dim));
        }
        return expected;
    }

    private void checkRead(ShardSet set) {
        List<Tensor> read = set.tensors(requests);
        for (int number = 0; number < read.size(); number++) {
            Request request = requests.get(number);
            Tensor expected = expected(request);
            assertThat(read.get(number).contentEquals(expected)).as("%s of %s", request, expected).isTrue();
            assertThat(read.get(number).dtype()).isEqualTo(expected.dtype());
        }
    }

    /// The bytes of all parts are those of the tensors, and no shard has others of a slice.
    private void checkStoredOnce(ShardSet set) {
        long stored = 0;
        for (Checkpoint shard : set.shards()) {
            for (String name : shard.names()) {
                Tensor local = shard.tensor(name);
                stored += local.device().isMeta() ? 0 : local.nbytes();
            }
        }
        assertThat(stored).isEqualTo(whole.values().stream().mapToLong(Tensor::nbytes).sum());
    }

    /// No byte of a file is read twice.
    private static void checkReadOnce(Scratch scratch) {
        Map<Path, List<CountedStore.Read>> byFile = CountedStore.reads(scratch.directory()).stream()
                .collect(Collectors.groupingBy(CountedStore.Read::file, TreeMap::new, Collectors.toList()));
        byFile.forEach((file, reads) -> {
            List<CountedStore.Read> sorted = new ArrayList<>(reads);
            sorted.sort(Comparator.comparingLong(CountedStore.Read::offset));
            long end = 0;
            for (CountedStore.Read read : sorted) {
                assertThat(read.offset()).as("%s of %s", read, sorted).isGreaterThanOrEqualTo(end);
                end = read.offset() + read.length();
            }
        });
    }
}
