package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.serializer.internal.loading.DeviceSource;
import io.undercroft.serializer.internal.loading.SlabAllocator;
import io.undercroft.serializer.internal.loading.TensorCopy;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Allocator;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.DeviceMemory;
import io.undercroft.storage.spi.DeviceMemory.Upload;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// Reads boxes of tensors of a set, all together.
///
/// 1. **Plan.** Each box is intersected with the parts of its tensor, which gives *cuts*: a box of one part each.
/// 2. **Look.** The tensors of the cuts are looked up in their shards, several shards at once. In a store, the ranges
///    of all cuts of a shard are then fetched together, adjacent ones by one request.
/// 3. **Give.** A box that one part has contiguously is a view of the mapped part. All others get new memory; boxes
///    that consist of the same bytes get the same memory, as tensors that share a storage do.
/// 4. **Copy.** Shard after shard, several at once, so that each is open once, and each byte is read once. Elements of
///    less than a byte are copied by one thread.
///
/// What goes to a device is put together in memory of the host, in slabs of a bounded size.
///
/// [SetLoad] copies to tensors that exist: it plans and looks up all boxes first, and nothing is given.
final class SetRead {
    /// The bytes of a result that are put together on the host for a device at a time.
    private static final long SLAB = 64L << 20;

    private final SetFile set;
    private final Map<Cut, Source> sources = new ConcurrentHashMap<>();
    private final Map<Content, Tensor> made = new HashMap<>();
    private final List<Copy> copies = new ArrayList<>();
    private final List<OnDevice> uploads = new ArrayList<>();
    /// Tensors that one part is, which are read when they are touched, and their storages.
    private final Map<Cut, Tensor> views = new ConcurrentHashMap<>();
    private final Map<StorageOf, Storage> lent = new ConcurrentHashMap<>();

    /// A storage of a shard.
    record StorageOf(int shard, int number) {}
    private final Set<Cut> begun = ConcurrentHashMap.newKeySet();
    private final Set<Cut> done = ConcurrentHashMap.newKeySet();

    /// A box of one part of a tensor, by identity.
    static final class Cut {
        private final SlicedTensor tensor;
        private final SlicePart part;
        private final Box box;

        Cut(SlicedTensor tensor, SlicePart part, Box box) {
            this.tensor = tensor;
            this.part = part;
            this.box = box;
        }

        Box whole() {
            return new Box(part.offset(), part.size());
        }

        boolean isWhole() {
            return box.isSame(whole());
        }
    }

    /// Where the elements of a cut are. Equal if they are the same bytes, read in the same way.
    private record Source(int shard, TensorRecord record, DTypeRecord dtype, List<Long> from, List<Long> size) {}

    /// What a result consists of.
    ///
    /// @param name the name of a tensor without elements, or nothing
    record Content(Device device, String name, List<Source> sources, List<List<Long>> places) {}

    /// A box with its cuts, which have no element in common.
    record Plan(Wanted wanted, List<Cut> cuts) {}

    /// A box, and the tensor of the host that it is copied to, which has its shape.
    record Into(Plan plan, Tensor target) {}

    /// A result that is uploaded.
    private record OnDevice(Plan plan, DeviceMemory memory, MemorySegment target) {}

    /// Elements that are copied from a cut into memory.
    private record Copy(Cut cut, Box box, Tensor target) {}

    SetRead(SetFile set) {
        this.set = set;
    }

    List<Tensor> run(List<Wanted> wanted) throws IOException {
        List<Plan> plans = plans(wanted);
        List<Tensor> results = new ArrayList<>(plans.size());
        Allocator host = new SlabAllocator(plans.stream().mapToLong(SetRead::nbytes).sum());
        try {
            for (Plan plan : plans) {
                results.add(result(plan, host));
            }
            copyAll(copies);
            for (OnDevice upload : uploads) {
                upload(upload);
            }
            return results;
        } catch (Throwable e) {
            made.values().forEach(tensor -> tensor.storage().release());
            throw e;
        }
    }

    /// Makes tensors as [#run], whose bytes are read when they are touched.
    ///
    /// @param wanted whole tensors
    /// @param storages receives their storages, and the storages of shards that these are read from
    List<Tensor> later(List<Wanted> wanted, IdentityHashMap<Storage, List<StorageOf>> storages) throws IOException {
        List<Plan> plans = wanted.stream().map(this::plan).toList();
        look(plans, plans.stream().filter(SetRead::isOfOne).map(plan -> plan.cuts.getFirst())
                .collect(Collectors.toUnmodifiableSet()));
        List<Tensor> results = new ArrayList<>(plans.size());
        for (Plan plan : plans) {
            if (plan.wanted.device().isMeta()) {
                results.add(meta(plan));
            } else if (isOfOne(plan)) {
                results.add(Objects.requireNonNull(views.get(plan.cuts.getFirst())));
            } else {
                results.add(made.computeIfAbsent(content(plan), _ -> {
                    Storage storage = later(plan);
                    storages.put(storage, plan.cuts.stream().map(cut -> new StorageOf(cut.part.shard(),
                            Objects.requireNonNull(sources.get(cut)).record.storage())).toList());
                    return Tensor.of(storage, dtype(plan), 0, plan.wanted.box().shape());
                }));
            }
        }
        lent.forEach((from, storage) -> storages.put(storage, List.of(from)));
        return results;
    }

    /// Makes a tensor on a storage that opens the shard when it is touched. Tensors that share a storage in the shard
    /// do so here.
    private Tensor view(Cut cut, TensorRecord record, CroftContents contents) {
        int shard = cut.part.shard();
        Storage storage = lent.computeIfAbsent(new StorageOf(shard, record.storage()), _ -> deferred(set.member(shard),
                record.storage(), contents.storage(record.storage()).nbytes(), set.location()));
        return contents.tensorOn(cut.tensor.name(), storage);
    }

    private static Storage deferred(SetMember member, int number, long nbytes, String location) {
        return Storage.deferred(nbytes, () -> {
            try {
                return member.bytes(number);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }, location);
    }

    private Storage later(Plan plan) {
        Device device = plan.wanted.device();
        long nbytes = nbytes(plan);
        return device.isCpu()
                ? Storage.decoded(nbytes, () -> allocation(plan.wanted), set.location())
                : Storage.deferred(nbytes, memoryFor(plan.wanted), () -> allocation(plan.wanted), set.location());
    }

    /// {@return the bytes of a tensor, read now}
    private Allocation allocation(Wanted wanted) {
        try {
            SetRead read = new SetRead(set);
            Plan plan = read.plans(List.of(wanted)).getFirst();
            Allocation bytes = wanted.device().isCpu()
                    ? AnonymousMemory.allocator().allocate(nbytes(plan))
                    : memoryFor(wanted).allocateUninitialized(nbytes(plan));
            try {
                read.fill(plan, bytes);
                return bytes;
            } catch (Throwable e) {
                bytes.free();
                throw e;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void fill(Plan plan, Allocation bytes) throws IOException {
        if (!plan.wanted.device().isCpu()) {
            upload(new OnDevice(plan, memoryFor(plan.wanted), bytes.segment()));
            return;
        }
        copy(List.of(new Into(plan,
                Tensor.of(Storage.wrap(bytes.segment()), dtype(plan), 0, plan.wanted.box().shape()))));
    }

    /// {@return the dtype of the elements of a box}
    static DType dtype(Plan plan) {
        DTypeRecord record = plan.wanted.tensor().dtype();
        return DType.opaque(record.name(), record.bits());
    }

    private static DeviceMemory memoryFor(Wanted wanted) {
        return DeviceSource.memoryOf(wanted.device(), "CROFT-DEVICE",
                "the tensor " + FormatException.quote(wanted.tensor().name()) + " is");
    }

    private static long nbytes(Plan plan) {
        return dtype(plan).nbytes(plan.wanted.box().shape().numel());
    }

    // ---- plan ----

    private Plan plan(Wanted wanted) {
        List<Cut> cuts = new ArrayList<>();
        if (!wanted.isEmpty() && !wanted.device().isMeta()) {
            for (SlicePart part : set.parts(wanted.tensor())) {
                new Box(part.offset(), part.size()).intersect(wanted.box())
                        .ifPresent(box -> cuts.add(new Cut(wanted.tensor(), part, box)));
            }
        }
        return new Plan(wanted, cuts);
    }

    /// Plans boxes, and looks up their parts.
    ///
    /// @throws FormatException if a shard is missing, damaged, or has another tensor
    List<Plan> plans(List<Wanted> wanted) throws IOException {
        List<Plan> plans = wanted.stream().map(this::plan).toList();
        look(plans);
        return plans;
    }

    // ---- look ----

    private void look(List<Plan> plans) throws IOException {
        look(plans, Set.of());
    }

    /// @param viewed the cuts of which there is to be a view that is read later
    private void look(List<Plan> plans, Set<Cut> viewed) throws IOException {
        Map<Integer, List<Cut>> byShard = new LinkedHashMap<>();
        plans.forEach(plan -> plan.cuts
                .forEach(cut -> byShard.computeIfAbsent(cut.part.shard(), _ -> new ArrayList<>()).add(cut)));
        set.shared(List.copyOf(byShard.entrySet()), each -> set.member(each.getKey()).use((_, contents) -> {
            for (Cut cut : each.getValue()) {
                Source source = source(cut, contents);
                sources.put(cut, source);
                if (viewed.contains(cut)) {
                    views.put(cut, view(cut, source.record, contents));
                }
            }
            return this;
        }));
    }

    private static Source source(Cut cut, CroftContents contents) {
        SlicedTensor tensor = cut.tensor;
        Optional<TensorRecord> record = contents.record(tensor.name());
        if (record.isEmpty()) {
            throw differs(cut, "has none");
        }
        DTypeRecord dtype = contents.dtypeOf(record.get());
        if (!dtype.equals(tensor.dtype()) || !new Box(cut.part.offset(), record.get().shape()).isSame(cut.whole())) {
            throw differs(cut, "has another: " + FormatException.printable(dtype.name()) + ' '
                    + Arrays.toString(record.get().shape()));
        }
        List<Long> from = new ArrayList<>();
        for (int dim = 0; dim < cut.box.offset().length; dim++) {
            from.add(cut.box.offset()[dim] - cut.part.offset()[dim]);
        }
        return new Source(cut.part.shard(), record.get(), dtype, from, list(cut.box.size()));
    }

    private static List<Long> list(long[] numbers) {
        return Arrays.stream(numbers).boxed().toList();
    }

    private static FormatException differs(Cut cut, String what) {
        return Rule.V22_SLICE.broken("the manifest says that the shard has the part " + cut.whole() + " of the tensor "
                + cut.tensor + ", and it " + what, FormatException.NO_OFFSET);
    }

    // ---- give ----

    /// {@return a meta tensor or a view, if the result is one, or else null}
    private @Nullable Tensor immediate(Plan plan) throws IOException {
        if (plan.wanted.device().isMeta()) {
            return meta(plan);
        }
        return isOfOne(plan) ? view(plan.cuts.getFirst()) : null;
    }

    private static Tensor meta(Plan plan) {
        return Tensor.meta(dtype(plan), plan.wanted.box().size());
    }

    private static boolean isOfOne(Plan plan) {
        return plan.wanted.device().isCpu() && plan.cuts.size() == 1
                && plan.cuts.getFirst().box.isSame(plan.wanted.box());
    }

    /// {@return what a box consists of} Equal boxes are the same bytes.
    Content content(Plan plan) {
        return new Content(plan.wanted.device(), plan.cuts.isEmpty() ? plan.wanted.tensor().name() : "",
                plan.cuts.stream().map(sources::get).toList(),
                plan.cuts.stream().map(cut -> place(cut, plan.wanted.box())).toList());
    }

    private Tensor result(Plan plan, Allocator host) throws IOException {
        Tensor immediate = immediate(plan);
        if (immediate != null) {
            return immediate;
        }
        Content content = content(plan);
        Tensor known = plan.cuts.isEmpty() ? null : made.get(content);
        if (known != null) {
            return known;
        }
        Tensor result;
        if (plan.wanted.device().isCpu()) {
            result = Tensor.zeros(host, dtype(plan), plan.wanted.box().size());
            copies.addAll(copies(new Into(plan, result)));
        } else {
            result = onDevice(plan);
        }
        if (!plan.cuts.isEmpty()) {
            made.put(content, result);
        }
        return result;
    }

    private static List<Long> place(Cut cut, Box in) {
        List<Long> place = new ArrayList<>();
        for (int dim = 0; dim < in.offset().length; dim++) {
            place.add(cut.box.offset()[dim] - in.offset()[dim]);
        }
        return place;
    }

    private Tensor onDevice(Plan plan) {
        DeviceMemory memory = memoryFor(plan.wanted);
        Allocation bytes = memory.allocateUninitialized(nbytes(plan));
        uploads.add(new OnDevice(plan, memory, bytes.segment()));
        return Tensor.of(Storage.over(bytes, memory.device()), dtype(plan), 0, plan.wanted.box().shape());
    }

    /// {@return the elements of a cut in the memory of the shard, if it is the whole part or contiguous there; or
    /// null} In a store, a view of a part would fetch the whole part.
    private @Nullable Tensor view(Cut cut) throws IOException {
        if (!cut.isWhole() && (set.isStore() || !isContiguous(cut))) {
            return null;
        }
        return set.member(cut.part.shard())
                .lend((_, contents) -> cut.box.in(contents.tensor(cut.tensor.name()).orElseThrow(), cut.whole()));
    }

    private boolean isContiguous(Cut cut) {
        TensorRecord record = Objects.requireNonNull(sources.get(cut)).record;
        long step = 1;
        long[] stride = record.stride();
        for (int dim = stride.length - 1; dim >= 0; dim--) {
            long size = cut.box.size()[dim];
            if (size != 1 && stride[dim] != step) {
                return false;
            }
            step *= size;
        }
        return true;
    }

    // ---- copy ----

    /// Copies boxes to memory of the host.
    void copy(List<Into> all) throws IOException {
        copyAll(all.stream().flatMap(into -> copies(into).stream()).toList());
    }

    private static List<Copy> copies(Into into) {
        Box whole = into.plan.wanted.box();
        return into.plan.cuts.stream().map(cut -> new Copy(cut, cut.box, cut.box.in(into.target, whole))).toList();
    }

    /// {@return whether all elements of a box were copied}
    boolean isDone(Plan plan) {
        return done.containsAll(plan.cuts);
    }

    /// {@return whether elements of a box may have been copied}
    boolean isBegun(Plan plan) {
        return plan.cuts.stream().anyMatch(begun::contains);
    }

    /// Refuses to copy over the memory of the shards that is copied from.
    ///
    /// @throws IllegalArgumentException if a tensor has such memory, unless each of its elements would stay
    void requireOthers(List<Into> all) throws IOException {
        List<Copy> some = all.stream().flatMap(into -> copies(into).stream()).toList();
        if (some.stream().noneMatch(copy -> set.member(copy.cut.part.shard()).hasLent())) {
            return;
        }
        List<TensorCopy> whole = new ArrayList<>();
        for (Copy copy : some) {
            whole.add(set.member(copy.cut.part.shard()).use(
                    (_, contents) -> new TensorCopy(copy.cut.tensor.name(), part(copy, contents), copy.target)));
        }
        Set<Storage> sources = whole.stream().map(copy -> TensorCopy.memoryOf(copy.source()))
                .collect(Collectors.toSet());
        whole.stream().filter(copy -> sources.contains(copy.memory())).forEach(TensorCopy::checkStays);
    }

    private static Tensor part(Copy copy, CroftContents contents) {
        return copy.box.in(contents.tensor(copy.cut.tensor.name()).orElseThrow(), copy.cut.whole());
    }

    private void copyAll(List<Copy> some) throws IOException {
        set.shared(byShard(some, true), this::copyFromShard);
        // Parts of elements of less than a byte may share a byte, which two threads must not write.
        for (Map.Entry<Integer, List<Copy>> each : byShard(some, false)) {
            copyFromShard(each);
        }
    }

    private static List<Map.Entry<Integer, List<Copy>>> byShard(List<Copy> some, boolean areByteSized) {
        Map<Integer, List<Copy>> byShard = new LinkedHashMap<>();
        some.stream().filter(copy -> copy.target.dtype().isByteSized() == areByteSized)
                .forEach(copy -> byShard.computeIfAbsent(copy.cut.part.shard(), _ -> new ArrayList<>()).add(copy));
        return List.copyOf(byShard.entrySet());
    }

    private void copyFromShard(Map.Entry<Integer, List<Copy>> each) throws IOException {
        var _ = set.member(each.getKey()).use((file, contents) -> {
            each.getValue().forEach(copy -> begun.add(copy.cut));
            copy(each.getValue(), file, contents);
            each.getValue().forEach(copy -> done.add(copy.cut));
            return this;
        });
    }

    private void copy(List<Copy> some, MappedFile file, CroftContents contents) throws IOException {
        if (set.isStore()) {
            List<CroftContents.Part> parts = some.stream().map(copy -> new CroftContents.Part(
                    copy.cut.tensor.name(), tensor -> copy.box.in(tensor, copy.cut.whole()), copy.target)).toList();
            contents.readParts(parts);
            return;
        }
        for (Copy copy : some) {
            var _ = MappedAccess.guarded(file, () -> copy.target.copyFrom(part(copy, contents)));
        }
    }

    // ---- upload ----

    /// Takes a part of a box that was put together.
    @FunctionalInterface
    interface Taking {
        /// Takes it.
        ///
        /// @param elements the elements, in memory that is released afterwards
        /// @param slab which ones they are
        void take(Tensor elements, Box slab);
    }

    /// Puts a box together in memory of the host, one part after the other.
    void inSlabs(Plan plan, Taking taking) throws IOException {
        if (plan.cuts.isEmpty()) {
            return;
        }
        for (Box slab : slabs(plan.wanted.box(), dtype(plan))) {
            Tensor part = Tensor.zeros(AnonymousMemory.allocator(), dtype(plan), slab.size());
            try {
                List<Copy> some = new ArrayList<>();
                for (Cut cut : plan.cuts) {
                    cut.box.intersect(slab).ifPresent(box -> some.add(new Copy(cut, box, box.in(part, slab))));
                }
                copyAll(some);
                taking.take(part, slab);
            } finally {
                part.storage().release();
            }
        }
    }

    private void upload(OnDevice result) throws IOException {
        long[] offset = new long[1];
        inSlabs(result.plan, (part, _) -> {
            MemorySegment bytes = part.storage().segment();
            result.memory.upload(List.of(new Upload(result.target.asSlice(offset[0], bytes.byteSize()),
                    (at, into) -> into.copyFrom(bytes.asSlice(at, into.byteSize())))));
            offset[0] += bytes.byteSize();
        });
    }

    /// Divides a box along the first dimension in which it has several elements. Elements of less than a byte are not
    /// divided, since a slab has to end with a byte.
    private static List<Box> slabs(Box box, DType dtype) {
        int dim = 0;
        while (dim < box.size().length && box.size()[dim] == 1) {
            dim++;
        }
        if (dim == box.size().length || !dtype.isByteSized()) {
            return List.of(box);
        }
        long rowBytes = dtype.nbytes(box.shape().numel() / box.size()[dim]);
        long rows = Math.max(1, SLAB / Math.max(1, rowBytes));
        List<Box> slabs = new ArrayList<>();
        for (long from = 0; from < box.size()[dim]; from += rows) {
            long[] offset = box.offset().clone();
            long[] size = box.size().clone();
            offset[dim] += from;
            size[dim] = Math.min(rows, size[dim] - from);
            slabs.add(new Box(offset, size));
        }
        return slabs;
    }
}
