package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.SlicePart;
import io.undercroft.format.internal.SlicedTensor;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.serializer.internal.loading.DeviceSource;
import io.undercroft.serializer.internal.loading.SlabAllocator;
import io.undercroft.serializer.internal.loading.TensorCopy;
import io.undercroft.serializer.internal.sets.SetContents.Place;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
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
/// Bytes for a device are put together in memory of the host, in slabs of a bounded size.
///
/// [SetLoad] copies to tensors that exist: it plans and looks up all boxes first, and nothing is given.
public final class SetRead {
    /// The bytes of a result that are put together on the host for a device at a time.
    private static final long SLAB = 64L << 20;
    /// The number of shards that stay open for mapped storages. Storages of further shards are read into memory.
    private static final int MAX_MAPPED_SHARDS = 128;

    private final SetFile set;
    private final Map<Cut, Source> sources = new ConcurrentHashMap<>();
    private final Map<Content, Tensor> made = new HashMap<>();
    private final List<Copy> copies = new ArrayList<>();
    private final List<Map.Entry<Plan, MemorySegment>> uploads = new ArrayList<>();
    /// Tensors that are one part, which are read on first access, and their storages.
    private final Map<Cut, Tensor> views = new ConcurrentHashMap<>();
    private final Map<Place, Storage> deferred = new ConcurrentHashMap<>();
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
    }

    /// The source of the elements of a cut. Equal if it is the same bytes, read in the same way.
    ///
    /// @param box the box of the tensor of the shard
    private record Source(int shard, TensorRecord record, DTypeRecord dtype, Box box) {}

    /// The content of a result.
    ///
    /// @param name the name of a tensor without elements, or nothing
    record Content(Device device, String name, List<Source> sources, List<Box> places) {}

    /// A box of a tensor that is to be read.
    ///
    /// @param tensor the tensor
    /// @param box the box
    /// @param device where to
    /// @param cuts the parts of the box, which have no element in common
    public record Plan(SlicedTensor tensor, Box box, Device device, List<Cut> cuts) {
        static Plan of(SlicedTensor tensor, Box box, Device device, List<SlicePart> parts) {
            List<Cut> cuts = new ArrayList<>();
            for (SlicePart part : parts) {
                new Box(part.offset(), part.size()).intersect(box)
                        .ifPresent(common -> cuts.add(new Cut(tensor, part, common)));
            }
            return new Plan(tensor, box, device, cuts);
        }

        /// {@return the dtype of the elements}
        DType dtype() {
            return DType.opaque(tensor.dtype().name(), tensor.dtype().bits());
        }

        long nbytes() {
            return dtype().nbytes(box.shape().numel());
        }

        DeviceMemory memory() {
            return DeviceSource.memoryOf(device, "CROFT-DEVICE",
                    "the tensor " + FormatException.quote(tensor.name()) + " is");
        }

        /// {@return whether it is one part, or a box of one, in memory of the host}
        private boolean isOfOne() {
            return device.isCpu() && cuts.size() == 1 && cuts.getFirst().box.equals(box);
        }

        private Tensor on(Storage storage) {
            return Tensor.of(storage, dtype(), 0, box.shape());
        }
    }

    /// A box, and the tensor of the host that it is copied to, which has its shape.
    record Into(Plan plan, Tensor target) {}

    /// Elements that are copied from a cut into memory.
    private record Copy(Cut cut, Box box, Tensor target) {}

    SetRead(SetFile set) {
        this.set = set;
    }

    List<Tensor> run(List<Plan> plans) throws IOException {
        look(plans);
        List<Tensor> results = new ArrayList<>(plans.size());
        Allocator host = new SlabAllocator(plans.stream().mapToLong(Plan::nbytes).sum());
        try {
            for (Plan plan : plans) {
                results.add(result(plan, host));
            }
            copyAll(copies);
            for (Map.Entry<Plan, MemorySegment> upload : uploads) {
                upload(set, upload.getKey(), upload.getValue());
            }
            return results;
        } catch (Throwable e) {
            made.values().forEach(tensor -> tensor.storage().release());
            throw e;
        }
    }

    /// Makes tensors as [#run], whose bytes are read when they are touched.
    ///
    /// @param plans those of whole tensors
    /// @param storages receives their storages, and the storages of shards that these are read from
    List<Tensor> later(List<Plan> plans, Map<Storage, List<Place>> storages) throws IOException {
        look(plans, plans.stream().filter(Plan::isOfOne).map(plan -> plan.cuts.getFirst())
                .collect(Collectors.toUnmodifiableSet()));
        List<Tensor> results = new ArrayList<>(plans.size());
        for (Plan plan : plans) {
            if (plan.device.isMeta()) {
                results.add(Tensor.meta(plan.dtype(), plan.box.size()));
            } else if (plan.isOfOne()) {
                results.add(Objects.requireNonNull(views.get(plan.cuts.getFirst())));
            } else {
                results.add(made.computeIfAbsent(content(plan), _ -> {
                    Storage storage = later(set, plan);
                    storages.put(storage, plan.cuts.stream().map(cut -> new Place(cut.part.shard(),
                            Objects.requireNonNull(sources.get(cut)).record.storage())).toList());
                    return plan.on(storage);
                }));
            }
        }
        deferred.forEach((from, storage) -> storages.put(storage, List.of(from)));
        return results;
    }

    /// Makes a tensor on a storage that opens the shard when it is touched. Tensors that share a storage in the shard
    /// do so here.
    private Tensor view(Cut cut, TensorRecord record, CroftContents contents) {
        Storage storage = deferred.computeIfAbsent(new Place(cut.part.shard(), record.storage()),
                from -> Storage.deferred(contents.storage(from.storage()).nbytes(), bytesLater(set, from),
                        set.location()));
        return contents.tensorOn(cut.tensor.name(), storage);
    }

    /// {@return what makes the bytes of a storage: mapped, for which the shard stays open; or read into memory, if the
    /// options require that or the maximum number of shards is open already}
    private static Supplier<Allocation> bytesLater(SetFile set, Place from) {
        return () -> {
            try {
                return set.files().use(from.member(), (file, contents) -> {
                    boolean isInMemory = set.options().isInMemory();
                    boolean isMapped = !isInMemory && staysOpen(set, from.member(), file);
                    return isMapped || isInMemory
                            ? held(contents.storage(from.storage()))
                            : contents.read(from.storage());
                });
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        };
    }

    /// {@return whether a shard that is used stays open, so that its memory can be used} Not if so many others do,
    /// unless writes are to reach it: a process may have a limited number of open files.
    private static boolean staysOpen(SetFile set, int shard, MappedFile file) {
        return set.files().keep(shard, file.mode() == MapMode.SHARED ? Integer.MAX_VALUE : MAX_MAPPED_SHARDS);
    }

    private static Allocation held(Storage storage) {
        storage.retain();
        try {
            Allocation held = new Allocation(storage.segment(),
                    storage.isShared() ? Allocation.Sharing.SHARED : Allocation.Sharing.PRIVATE,
                    storage.filename().orElse(null), storage.origin().orElse(null), storage::release);
            return storage.backing().map(held::withBacking).orElse(held);
        } catch (Throwable e) {
            storage.release();
            throw e;
        }
    }

    private static Storage later(SetFile set, Plan plan) {
        Supplier<Allocation> bytes = () -> allocation(set, plan);
        return plan.device.isCpu()
                ? Storage.decoded(plan.nbytes(), bytes, set.location())
                : Storage.deferred(plan.nbytes(), plan.memory(), bytes, set.location());
    }

    /// {@return the bytes of a tensor, read now}
    private static Allocation allocation(SetFile set, Plan plan) {
        boolean isOnHost = plan.device.isCpu();
        Allocation bytes = isOnHost
                ? AnonymousMemory.allocator().allocate(plan.nbytes())
                : plan.memory().allocateUninitialized(plan.nbytes());
        try {
            if (isOnHost) {
                new SetRead(set).copy(List.of(new Into(plan, plan.on(Storage.wrap(bytes.segment())))));
            } else {
                upload(set, plan, bytes.segment());
            }
            return bytes;
        } catch (IOException e) {
            bytes.free();
            throw new UncheckedIOException(e);
        } catch (Throwable e) {
            bytes.free();
            throw e;
        }
    }

    // ---- look ----

    /// Looks up the parts of boxes.
    ///
    /// @throws FormatException if a shard is missing, damaged, or has another tensor
    void look(List<Plan> plans) throws IOException {
        look(plans, Set.of());
    }

    /// @param viewed the cuts of which there is to be a view that is read later
    private void look(List<Plan> plans, Set<Cut> viewed) throws IOException {
        Map<Integer, List<Cut>> byShard = new LinkedHashMap<>();
        plans.forEach(plan -> plan.cuts
                .forEach(cut -> byShard.computeIfAbsent(cut.part.shard(), _ -> new ArrayList<>()).add(cut)));
        set.files().shared(List.copyOf(byShard.entrySet()), each -> set.files().use(each.getKey(), (_, contents) -> {
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
        if (!dtype.equals(tensor.dtype()) || !new Box(cut.part.offset(), record.get().shape()).equals(cut.whole())) {
            throw differs(cut, "has another: " + FormatException.printable(dtype.name()) + ' '
                    + Arrays.toString(record.get().shape()));
        }
        return new Source(cut.part.shard(), record.get(), dtype, cut.box.from(cut.whole()));
    }

    private static FormatException differs(Cut cut, String what) {
        return Rule.V22_SLICE.broken("the manifest says that the shard has the part " + cut.whole() + " of the tensor "
                + cut.tensor + ", and it " + what, FormatException.NO_OFFSET);
    }

    // ---- give ----

    /// {@return what a box consists of} Equal boxes are the same bytes.
    Content content(Plan plan) {
        return new Content(plan.device, plan.cuts.isEmpty() ? plan.tensor.name() : "",
                plan.cuts.stream().map(sources::get).toList(),
                plan.cuts.stream().map(cut -> cut.box.from(plan.box)).toList());
    }

    private Tensor result(Plan plan, Allocator host) throws IOException {
        if (plan.device.isMeta()) {
            return Tensor.meta(plan.dtype(), plan.box.size());
        }
        Tensor known = plan.isOfOne() ? view(plan.cuts.getFirst()).orElse(null) : null;
        if (known == null && !plan.cuts.isEmpty()) {
            known = made.get(content(plan));
        }
        if (known != null) {
            return known;
        }
        Tensor result;
        if (plan.device.isCpu()) {
            result = Tensor.zeros(host, plan.dtype(), plan.box.size());
            copies.addAll(copies(new Into(plan, result)));
        } else {
            Allocation bytes = plan.memory().allocateUninitialized(plan.nbytes());
            uploads.add(Map.entry(plan, bytes.segment()));
            result = plan.on(Storage.over(bytes, plan.memory().device()));
        }
        if (!plan.cuts.isEmpty()) {
            made.put(content(plan), result);
        }
        return result;
    }

    /// {@return the elements of a cut in the memory of the shard, if it is the whole part or contiguous there and the
    /// shard stays open} In a store, a view of a part would fetch the whole part.
    private Optional<Tensor> view(Cut cut) throws IOException {
        if (!cut.box.equals(cut.whole()) && (set.files().isStore() || !isContiguous(cut))) {
            return Optional.empty();
        }
        return set.files().use(cut.part.shard(), (file, contents) -> !staysOpen(set, cut.part.shard(), file)
                ? Optional.empty()
                : Optional.of(cut.box.in(contents.tensor(cut.tensor.name()).orElseThrow(), cut.whole())));
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
        Box whole = into.plan.box;
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
        if (some.stream().noneMatch(copy -> set.files().isKept(copy.cut.part.shard()))) {
            return;
        }
        List<TensorCopy> whole = new ArrayList<>();
        for (Copy copy : some) {
            whole.add(set.files().use(copy.cut.part.shard(),
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
        set.files().shared(byShard(some, true), this::copyFromShard);
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
        var _ = set.files().use(each.getKey(), (file, contents) -> {
            each.getValue().forEach(copy -> begun.add(copy.cut));
            copy(each.getValue(), file, contents);
            each.getValue().forEach(copy -> done.add(copy.cut));
            return this;
        });
    }

    private void copy(List<Copy> some, MappedFile file, CroftContents contents) throws IOException {
        if (set.files().isStore()) {
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

    /// Puts a box together in memory of the host, one part after the other.
    ///
    /// @param taking takes the elements of a part, in memory that is released afterwards, and which ones they are
    void inSlabs(Plan plan, BiConsumer<Tensor, Box> taking) throws IOException {
        if (plan.cuts.isEmpty()) {
            return;
        }
        for (Box slab : slabs(plan.box, plan.dtype())) {
            Tensor part = Tensor.zeros(AnonymousMemory.allocator(), plan.dtype(), slab.size());
            try {
                List<Copy> some = new ArrayList<>();
                for (Cut cut : plan.cuts) {
                    cut.box.intersect(slab).ifPresent(box -> some.add(new Copy(cut, box, box.in(part, slab))));
                }
                copyAll(some);
                taking.accept(part, slab);
            } finally {
                part.storage().release();
            }
        }
    }

    private static void upload(SetFile set, Plan plan, MemorySegment target) throws IOException {
        long[] offset = new long[1];
        new SetRead(set).inSlabs(plan, (part, _) -> {
            MemorySegment bytes = part.storage().segment();
            plan.memory().upload(List.of(new Upload(target.asSlice(offset[0], bytes.byteSize()),
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
