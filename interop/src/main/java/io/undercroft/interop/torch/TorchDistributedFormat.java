package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ShardSplit;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.interop.torch.DistributedIndex.Chunk;
import io.undercroft.interop.torch.DistributedIndex.Entry;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileSet;
import io.undercroft.serializer.spi.FileSet.Model;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/// A checkpoint that several processes saved together with `torch.distributed.checkpoint`: a directory with the file
/// `.metadata`, which is opened, and shards (`.distcp`) of `FileSystemWriter`. It is one state, nested as
/// `planner_data` says. Values that are no tensors are read when it is opened. Nothing of a file is run.
///
/// A tensor is contiguous, whatever it was when it was saved. One of one chunk is mapped if it is aligned in its file,
/// and copied otherwise; one of several is put together. Both happen when it is touched, and each byte is read once.
/// When the checkpoint is opened, each shard must be there and as long as the index needs it, and the last tensor in it
/// must be the one that the index has; the others are checked when they are touched, and by [Contents#verify]. The
/// index has no checksum.
///
/// **Writing.** `torch.distributed.checkpoint.load` reads what is written in any number of processes and any layout,
/// and `format_utils.dcp_to_torch_save` converts it. Each tensor is one chunk. Names are those that PyTorch gives, for
/// instance `model.fc1.weight`: keys become text. Tensors that share a storage are written separately. A shard is no
/// larger than the setting `torch-dcp.shard`, unless one tensor is. The index is `.metadata`, the name that PyTorch
/// looks for.
public final class TorchDistributedFormat implements CheckpointFormat {
    /// For the service loader.
    public TorchDistributedFormat() {}

    @Override
    public String name() {
        return "torch-dcp";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        return DistributedIndex.matches(file);
    }

    @Override
    public SequencedSet<String> companionNames(MappedFile file) throws IOException {
        return new LinkedHashSet<>(DistributedIndex.read(file).files());
    }

    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.SAVE, Capability.STATE, Capability.CHECKSUMS, Capability.SEVERAL_FILES);
    }

    @Override
    public List<Setting> settings() {
        return List.of(TorchSettings.STRICT, TorchSettings.OBJECTS,
                Setting.ofWriting(DistributedDraft.SHARD, ShardSplit.SIZES));
    }

    @Override
    public Optional<String> indexName() {
        return Optional.of(DistributedDraft.INDEX);
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        return draft(state, options, DistributedDraft.INDEX);
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options, String fileName) {
        return new DistributedDraft(state, options, fileName);
    }

    /// The index is the last member of the set: its storages are made of the shards.
    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        DistributedIndex index = DistributedIndex.read(file);
        List<String> names = new ArrayList<>(index.files());
        names.add("");
        MappedFile[] shards = new MappedFile[index.files().size()];
        return FileSet.open(file, names, options, (number, member) -> {
            if (number == shards.length) {
                return StorageFilter.read(options,
                        (opening, filter) -> new StateReader(index, file, shards, opening, filter).contents());
            }
            shards[number] = member;
            return ShardContents.of(member, index.chunks().get(number), options);
        }, members -> new Model(Objects.requireNonNull(members.getLast().state()), Map.of(), List.of()));
    }

    /// A shard, which has no state of its own.
    private static final class ShardContents extends TreeContents {
        private final MappedFile file;
        private final List<Chunk> chunks;
        private final OpenOptions options;

        private ShardContents(MappedFile file, List<Chunk> chunks, OpenOptions options) {
            super(null, Map.of(), _ -> List.of());
            this.file = file;
            this.chunks = chunks;
            this.options = options;
        }

        /// A file of safetensors begins with the length of a header in JSON, where an archive has its signature.
        private static boolean startsAsSafetensors(MappedFile file) throws IOException {
            byte[] start = new byte[(int) Math.min(file.size(), Long.BYTES + 1)];
            file.read(0, MemorySegment.ofArray(start));
            return start.length > Long.BYTES && start[Long.BYTES] == '{' && start[0] != 'P';
        }

        /// @param chunks those in the file, in the order of their bytes
        /// @throws FormatException if the file is cut, or has another tensor at its end
        static TreeContents of(MappedFile file, List<Chunk> chunks, OpenOptions options) throws IOException {
            if (startsAsSafetensors(file)) {
                throw DistributedIndex.isSafetensors("the file is one of safetensors");
            }
            long end = chunks.isEmpty() ? 0 : chunks.getLast().end();
            if (end > file.size()) {
                throw DistributedIndex.refused("DCP-SHARD", "the file has " + file.size() + " bytes, and the index has"
                        + " an entry up to byte " + end, file.size());
            }
            for (Chunk last : chunks.reversed()) {
                if (last.dtype() != null) {
                    SavedTensor.read(file, last, options).close();
                    break;
                }
            }
            long known = 0;
            long before = 0;
            for (Chunk chunk : chunks) {
                boolean isAligned = chunk.start() % Storage.ALIGNMENT == 0
                        && chunk.start() - before < Storage.ALIGNMENT;
                known += chunk.end() - (isAligned ? before : chunk.start());
                before = chunk.end();
            }
            return new ShardContents(file, chunks, options).withUnread(known == file.size()
                    ? List.of()
                    : List.of(new UnreadPart(UnreadPart.Kind.BYTES, "what no entry of the index has", 0,
                            file.size() - known)));
        }

        @Override
        public Verification verify() throws IOException {
            return check(_ -> {}, () -> {});
        }

        @Override
        public void scrub(Consumer<Damage> found, Runnable pulse) throws IOException {
            var _ = check(found, pulse);
        }

        private Verification check(Consumer<Damage> found, Runnable pulse) throws IOException {
            List<Damage> damages = new ArrayList<>();
            Consumer<Damage> met = damage -> {
                damages.add(damage);
                found.accept(damage);
            };
            long extents = 0;
            long nbytes = 0;
            for (Chunk chunk : chunks) {
                try {
                    ZipDirectory zip = ZipDirectory.read(file, chunk.start(), chunk.end());
                    zip.damages((_, _) -> {}, pulse).forEach(met);
                    for (ZipRecord record : zip.unverified()) {
                        extents++;
                        nbytes += record.size();
                    }
                    if (chunk.dtype() != null) {
                        SavedTensor.read(file, chunk, options).close();
                    }
                } catch (FormatException e) {
                    met.accept(Damage.of("an entry", chunk.end() - chunk.start(), e));
                }
            }
            return new Verification(damages, extents, nbytes);
        }
    }

    /// Makes the state, once. For use by one thread.
    private static final class StateReader {
        private final DistributedIndex index;
        private final MappedFile[] shards;
        private final OpenOptions options;
        private final StorageFilter filter;
        private final FileStorages assembled;
        private final List<FileStorages> stored;
        private final ReadBudget budget;
        /// For all values together.
        private final ReadBudget values;
        private final Map<String, ForeignClass> classes = new LinkedHashMap<>();
        /// The maps and lists that paths lead through. A value may be one, too, and stays as it is.
        private final Set<Object> containers = Collections.newSetFromMap(new IdentityHashMap<>());

        StateReader(DistributedIndex index, MappedFile file, MappedFile[] shards, OpenOptions options,
                StorageFilter filter) {
            this.index = index;
            this.shards = shards;
            this.options = options;
            this.filter = filter;
            this.assembled = new FileStorages(file, options);
            this.stored = Arrays.stream(shards).map(shard -> new FileStorages(shard, options)).toList();
            this.budget = ReadBudget.of(file.size());
            this.values = ReadBudget.of(index.entries().stream().filter(entry -> entry.dtype() == null)
                    .mapToLong(entry -> entry.chunks().getFirst().end() - entry.chunks().getFirst().start()).sum());
            index.classes().forEach(each -> classes.put(each.name(), each));
        }

        TreeContents contents() throws IOException {
            MappedFile.fetch(index.entries().stream().filter(entry -> entry.dtype() == null)
                    .map(entry -> entry.chunks().getFirst())
                    .map(chunk -> shards[chunk.file()].piece(chunk.start(), chunk.end() - chunk.start())).toList());
            Map<Object, @Nullable Object> state = new LinkedHashMap<>();
            containers.add(state);
            for (Entry entry : index.entries()) {
                Tuple path = index.paths().get(entry.name()) instanceof Tuple nested && !nested.isEmpty()
                        ? nested
                        : Tuple.of(entry.name());
                DType dtype = entry.dtype();
                put(state, path, dtype == null ? value(entry, path) : tensor(entry, dtype));
            }
            return TreeContents.of(state, Map.of(), _ -> List.of(), budget)
                    .withForeignClasses(List.copyOf(classes.values()));
        }

        private Tensor tensor(Entry entry, DType dtype) {
            long nbytes = dtype.nbytes(entry.shape().numel());
            return Tensor.of(filter.make(entry.name(), nbytes, () -> storage(entry, dtype, nbytes)), dtype, 0,
                    entry.shape());
        }

        /// What makes the bytes must not reference this reader, which has the tensors of values.
        private Storage storage(Entry entry, DType dtype, long nbytes) {
            MappedFile[] files = shards;
            OpenOptions opening = options;
            if (entry.chunks().size() == 1) {
                Chunk only = entry.chunks().getFirst();
                return stored.get(only.file()).located(nbytes, FileStorages.alignment(dtype),
                        () -> SavedTensor.place(files[only.file()], only, opening));
            }
            return assembled.decoded(dtype, entry.shape(), (offset, shape, into) -> {
                List<Chunk> parts = entry.chunks().stream().filter(chunk -> chunk.meets(offset, shape)).toList();
                MappedFile.fetch(parts.stream().filter(chunk -> chunk.isIn(offset, shape)).map(chunk -> files[chunk
                        .file()].piece(chunk.start(), chunk.end() - chunk.start())).toList());
                for (Chunk chunk : parts) {
                    try {
                        SavedTensor.copy(files[chunk.file()], chunk, opening, offset, shape, into);
                    } catch (FormatException e) {
                        throw e.withFile(files[chunk.file()].location());
                    }
                }
            });
        }

        private @Nullable Object value(Entry entry, Tuple path) throws IOException {
            Chunk chunk = entry.chunks().getFirst();
            MappedFile shard = shards[chunk.file()];
            String name = path.stream().map(StateIndex::segment).reduce("", StatePart::join);
            try {
                TreeContents contents = TorchZipFormat.open(shard,
                        ZipDirectory.read(shard, chunk.start(), chunk.end()), options.isPartial()
                                ? options.only(inner -> options
                                        .isChosen(inner.isEmpty() ? name : StatePart.join(name, inner)))
                                : options,
                        values);
                ForeignNames.merge(classes, contents.foreignClasses());
                return contents.state();
            } catch (FormatException e) {
                throw e.withFile(shard.location());
            } catch (UncheckedIOException e) {
                throw e.getCause();
            }
        }

        /// Puts a value where its path leads to: texts are keys of maps, integers are places in lists.
        private void put(Map<Object, @Nullable Object> state, Tuple path, @Nullable Object value) {
            Object container = state;
            for (int i = 0; i < path.size(); i++) {
                Object existing = get(container, path.get(i), path);
                boolean isLast = i == path.size() - 1;
                if (isLast && existing != null) {
                    throw misplaced(path);
                }
                if (isLast || existing == null) {
                    budget.takeMemory(ReadBudget.CONTAINER);
                    existing = isLast
                            ? value
                            : path.get(i + 1) instanceof Long ? new ArrayList<>() : new LinkedHashMap<>();
                    set(container, Objects.requireNonNull(path.get(i)), existing);
                    if (!isLast) {
                        containers.add(Objects.requireNonNull(existing));
                    }
                }
                if (!isLast) {
                    container = Objects.requireNonNull(existing);
                }
            }
        }

        private @Nullable Object get(Object container, @Nullable Object key, Tuple path) {
            boolean isOwn = containers.contains(container);
            if (isOwn && container instanceof Map<?, ?> map && key instanceof String) {
                return map.get(key);
            }
            // No list has more elements than there are entries.
            if (isOwn && container instanceof List<?> list && key instanceof Long place && place >= 0
                    && place < index.entries().size()) {
                return place < list.size() ? list.get(Math.toIntExact(place)) : null;
            }
            throw misplaced(path);
        }

        private static FormatException misplaced(Tuple path) {
            return DistributedIndex.refused("DCP-INDEX", "there is another entry where the entry "
                    + FormatException.quote(path.stream().map(String::valueOf).collect(Collectors.joining(".")))
                    + " is to be", FormatException.NO_OFFSET);
        }

        @SuppressWarnings("unchecked")
        private void set(Object container, Object key, @Nullable Object value) {
            if (container instanceof Map<?, ?> map) {
                ((Map<Object, @Nullable Object>) map).put(key, value);
                return;
            }
            List<@Nullable Object> list = (List<@Nullable Object>) container;
            int place = Math.toIntExact((Long) key);
            while (list.size() <= place) {
                budget.takeMemory(ReadBudget.SLOT);
                list.add(null);
            }
            list.set(place, value);
        }
    }
}
