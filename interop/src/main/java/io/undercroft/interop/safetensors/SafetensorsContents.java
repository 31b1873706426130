package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.interop.internal.TensorSlices;
import io.undercroft.interop.safetensors.SharingMetadata.View;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.SequencedMap;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The tensors of one file. The whole state is put together on first use; a tensor by its name needs no
/// other one, so that opening a file of ten thousand for one of them takes no longer than reading its header. Safe for
/// any thread.
final class SafetensorsContents implements Contents {
    /// With the value `ignore`, metadata is never read as sharing.
    static final String SHARING = "safetensors.sharing";
    /// The key of the metadata in which `HuggingFaceStorageWriter` puts where its tensors are in the whole ones.
    private static final String PARTS = "DCP_SHARDING_INFO";
    private static final Pattern PART = Pattern.compile("\"saved_offsets\": *\\[[0, ]*[1-9]");
    private static final Pattern FIRST_PARTS = Pattern.compile("(^|[/\\\\])shard-[0-9]+-model-[^/\\\\]*$");

    private final MappedFile file;
    private final SequencedMap<String, TensorEntry> entries;
    private final SharingMetadata sharing;
    private final FileStorages storages;

    private final OpenOptions options;
    private final @Nullable Set<String> chosen;
    /// Made on request: most programs want some tensors of many.
    private final Map<String, Tensor> tensors = new ConcurrentHashMap<>();
    private final Map<String, Storage> bases = new ConcurrentHashMap<>();
    /// The file, mapped again to be checked, since what the tensors use may have been written to. A mapping is freed
    /// only with its file, so all checks share one.
    private @Nullable MemorySegment onDisk;
    private @Nullable TreeContents tree;

    private SafetensorsContents(MappedFile file, SafetensorsHeader header, SharingMetadata sharing,
            OpenOptions options) {
        this.file = file;
        this.entries = header.entries();
        this.sharing = sharing;
        this.options = options;
        this.storages = new FileStorages(file, options);
        this.chosen = chosen(header, sharing, options);
    }

    /// Reads the header of a file.
    ///
    /// @param file the file, which outlives this
    /// @param options how it is opened; tensors that are not chosen are on the meta device
    static SafetensorsContents of(MappedFile file, OpenOptions options) throws IOException {
        SafetensorsHeader header = SafetensorsHeader.read(file);
        SharingMetadata sharing = ignoresSharing(options)
                ? SharingMetadata.none(header.metadata())
                : SharingMetadata.of(header);
        SafetensorsContents contents = new SafetensorsContents(file, header, sharing, options);
        for (String view : sharing.views().keySet()) {
            contents.find(view);
        }
        return contents;
    }

    static boolean ignoresSharing(OpenOptions options) {
        FormatSettings settings = options::setting;
        return settings.isOther(SHARING, "keep", "ignore");
    }

    private synchronized TreeContents tree() {
        TreeContents existing = tree;
        if (existing == null) {
            existing = TreeContents.of(tensors(), sharing.metadata(), _ -> check()).only(options);
            tree = existing;
        }
        return existing;
    }

    @Override
    public @Nullable Object state() {
        return tree().state();
    }

    @Override
    public Map<String, String> metadata() {
        return Collections.unmodifiableMap(sharing.metadata());
    }

    /// A file of `HuggingFaceStorageWriter` has parts of tensors, under the names of these, before it is consolidated.
    /// The parts that the first process saved start at 0, and only the name of the file says that they are parts.
    @Override
    public List<UnreadPart> unread() {
        String parts = sharing.metadata().getOrDefault(PARTS, "");
        return PART.matcher(parts).find() || (!parts.isEmpty() && FIRST_PARTS.matcher(file.location()).find())
                ? List.of(UnreadPart.ofFiles("the files that other processes saved with HuggingFaceStorageWriter:"
                        + " this one has parts of tensors, under the names of the whole ones"))
                : List.of();
    }

    @Override
    public SequencedCollection<String> names() {
        return tree().names();
    }

    /// The header has all names.
    @Override
    public boolean anyName(Predicate<String> test) {
        return rawNames().map(StateIndex::escape).filter(options::isChosen).anyMatch(test);
    }

    @Override
    public boolean contains(String name) {
        String key = StateIndex.rawName(name);
        return options.isChosen(name) && (entries.containsKey(key) || sharing.aliases().containsKey(key))
                && StateIndex.escape(key).equals(name);
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        if (!contains(name)) {
            return Optional.empty();
        }
        Tensor found = find(StateIndex.rawName(name));
        Optional<FormatException> why = Unreadable.why(found);
        if (why.isPresent()) {
            throw why.get();
        }
        return Optional.of(found);
    }

    @Override
    public List<Storage> storages() {
        return tree().storages();
    }

    @Override
    public List<Damage> damages() {
        List<Damage> damages = new ArrayList<>();
        entries.forEach((key, entry) -> {
            String name = StateIndex.escape(key);
            if (entry.fault() != null && options.isChosen(name)) {
                damages.add(Damage.of("tensor " + FormatException.quote(name), 0, entry.fault()));
            }
        });
        return damages;
    }

    @Override
    public Verification verify() throws IOException {
        List<Damage> damages = new ArrayList<>(damages());
        damages.addAll(check());
        return new Verification(damages, entries.size(),
                entries.values().stream().mapToLong(TensorEntry::nbytes).sum());
    }

    /// Tensors that were not read hold nothing.
    @Override
    public void release() {
        for (Storage base : bases.values()) {
            Contents.release(base);
        }
    }

    private SequencedMap<String, Tensor> tensors() {
        SequencedMap<String, Tensor> all = LinkedHashMap.newLinkedHashMap(entries.size());
        for (String name : entries.keySet()) {
            all.put(name, find(name));
        }
        for (String name : sharing.aliases().keySet()) {
            all.put(name, find(name));
        }
        return all;
    }

    /// {@return the names of all tensors, with their further names behind them}
    private Stream<String> rawNames() {
        return Stream.concat(entries.keySet().stream(), sharing.aliases().keySet().stream());
    }

    /// {@return a tensor; the same object at every call}
    ///
    /// @param name one of its names
    private Tensor find(String name) {
        return tensors.computeIfAbsent(sharing.aliases().getOrDefault(name, name), this::make);
    }

    private Tensor make(String name) {
        TensorEntry entry = entry(name);
        FormatException fault = entry.fault();
        if (fault != null) {
            return Unreadable.tensor(fault.withFile(file.location()), entry.shape());
        }
        Storage storage = bases.computeIfAbsent(sharing.baseOf(name), this::storage);
        View view = sharing.views().get(name);
        return view == null ? entry.on(storage) : entry.on(storage, view);
    }

    private Storage storage(String base) {
        TensorEntry entry = entry(base);
        return chosen == null || chosen.contains(base)
                ? entry.storage(storages)
                : Storage.meta(entry.nbytes());
    }

    /// {@return the tensors whose bytes a chosen tensor uses, or null if all are chosen}
    private static @Nullable Set<String> chosen(SafetensorsHeader header, SharingMetadata sharing,
            OpenOptions options) {
        return options.isPartial()
                ? Stream.concat(header.entries().keySet().stream(), sharing.aliases().keySet().stream())
                        .filter(name -> options.isChosen(StateIndex.escape(name))).map(sharing::baseOf)
                        .collect(Collectors.toSet())
                : null;
    }

    private TensorEntry entry(String name) {
        return Objects.requireNonNull(entries.get(name));
    }

    /// Compares the bytes that views have in the file, for other readers, with those of the tensors that they use.
    /// There is nothing else that a file could be checked by.
    ///
    /// @return the views that do not match the file
    private List<Damage> check() {
        List<Damage> damages = new ArrayList<>();
        sharing.views().forEach((name, view) -> {
            TensorEntry entry = entry(name);
            if (entry.fault() != null) {
                return;
            }
            Tensor own = entry.on(onDisk(entry));
            Tensor shown = entry.on(onDisk(entry(view.base())), view);
            if (!file.guard(() -> haveSameBytes(own, shown))) {
                damages.add(new Damage("tensor " + name, entry.start(), entry.nbytes(),
                        "SAFETENSORS-VIEWS",
                        "its own bytes are not those of the tensor " + view.base() + " that it is a view of",
                        Remedy.of("Save the file again from its source")));
            }
        });
        return damages;
    }

    private static boolean haveSameBytes(Tensor own, Tensor shown) {
        Tensor flat = own.flatten();
        long done = 0;
        for (Tensor slab : TensorSlices.of(shown)) {
            if (!flat.narrow(0, done, slab.numel()).view(slab.shape().toArray()).contentEquals(slab)) {
                return false;
            }
            done += slab.numel();
        }
        return true;
    }

    private Storage onDisk(TensorEntry entry) {
        return Storage.wrap(onDisk().asSlice(entry.start(), entry.nbytes()));
    }

    private synchronized MemorySegment onDisk() {
        MemorySegment existing = onDisk;
        if (existing == null) {
            existing = file.map(0, file.size());
            onDisk = existing;
        }
        return existing;
    }
}
