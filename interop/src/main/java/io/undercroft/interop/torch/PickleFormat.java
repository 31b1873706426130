package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.PickleReader;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// What Python's `pickle.dump` writes, of protocols 0 to 5: plain values, containers, and objects as the pickle
/// describes them. Nothing of a file is ever run. There are no checksums, so [Contents#verify] reports that nothing was
/// verified.
///
/// joblib writes the elements of arrays between the opcodes of a pickle; such files are read too. It compresses files
/// on request: one compressed with zlib or gzip is inflated into memory when it is opened, and its arrays are copied
/// from there when they are first touched. Its checksum is compared when it is opened.
///
/// A file may hold several pickles, one after the other. The first is opened, as by `pickle.load`, and
/// [Contents#unread] reports the rest.
public final class PickleFormat implements CheckpointFormat {
    static {
        PickleReader.provide(InOtherFile::new);
    }

    /// For the service loader.
    public PickleFormat() {}

    @Override
    public String name() {
        return "pickle";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        PickleStream stream = InflatedFile.isStartOf(file)
                ? new PickleStream(InflatedFile.start(file), file.location(), ReadBudget.of(file.size()))
                : new PickleStream(file, 0, file.size(), ReadBudget.of(file.size()));
        return !TorchLegacyFormat.isSave(stream.bytes()) && PickleProbe.matches(stream);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ByteOrderStorages elements = new ByteOrderStorages(file, options, ByteOrder.LITTLE_ENDIAN);
        Storage inflated = InflatedFile.isStartOf(file)
                ? InflatedFile.inflate(file, ReadBudget.of(file.size()))
                : null;
        return StorageFilter.read(options,
                (opening, filter) -> contents(file, inflated, opening, filter, elements));
    }

    /// @param inflated the bytes of a file that is compressed
    private static TreeContents contents(MappedFile file, @Nullable Storage inflated, OpenOptions options,
            StorageFilter filter, ByteOrderStorages elements) throws IOException {
        ReadBudget budget = ReadBudget.of(file.size());
        References references = new References(file, options, filter, elements, budget);
        ArrayStorages arrays = ArrayStorages.of(elements, options, filter);
        ForeignNames names = ForeignNames.of(TorchSettings.isStrict(options));
        PickleStream stream = inflated == null
                ? new PickleStream(file, 0, file.size(), budget)
                : new PickleStream(inflated, file.location(), budget);
        Object state = stream.pickle(references, names, arrays);
        StateCheck.check(state, names.isStrict(), _ -> {});
        long left = stream.bytes().remaining();
        List<UnreadPart> rest = left == 0
                ? List.of()
                : List.of(new UnreadPart(Kind.BYTES, "what is behind the first pickle"
                        + (inflated == null ? "" : ", inflated"), inflated == null ? stream.position() : 0, left));
        // What is kept is not to keep the inflated bytes.
        boolean isCompressed = inflated != null;
        return names.addTo(TreeContents
                .of(state, Map.of(), pulse -> isCompressed ? damages(file, pulse) : List.of(), budget)
                .withUnverified(1, file.size()), rest);
    }

    /// Compares the checksum of a compressed file.
    private static List<Damage> damages(MappedFile file, Runnable pulse) throws IOException {
        try {
            InflatedFile.forEachPart(file, Long.MAX_VALUE, (_, _) -> pulse.run());
            return List.of();
        } catch (FormatException e) {
            return List.of(Damage.of("the compressed pickle", file.size(), e));
        }
    }

    /// Storages are in the pickle itself.
    private static final class References implements Unpickler.References {
        private final String file;
        private final OpenOptions opening;
        private final StorageFilter filter;
        private final ByteOrderStorages elements;
        private final ReadBudget budget;
        private int count;

        References(MappedFile file, OpenOptions opening, StorageFilter filter, ByteOrderStorages elements,
                ReadBudget budget) {
            this.file = file.location();
            this.opening = opening;
            this.filter = filter;
            this.elements = elements;
            this.budget = budget;
        }

        @Override
        public @Nullable Object find(@Nullable Object id) {
            return NONE.find(id);
        }

        @Override
        public Object storage(byte[] save) throws IOException {
            return LegacySave.storageIn(save, file, opening, filter.in("save " + count++), elements, budget);
        }
    }

    /// The pickles in a file of another format, which refer to nothing outside of them.
    private static final class InOtherFile implements PickleReader.Pickles {
        private final MappedFile file;
        private final ArrayStorages arrays;
        private final ForeignNames names = ForeignNames.all();
        private final ReadBudget budget;

        InOtherFile(MappedFile file, OpenOptions options, ReadBudget budget) {
            this.file = file;
            this.arrays = ArrayStorages.of(new ByteOrderStorages(file, options, ByteOrder.LITTLE_ENDIAN), options,
                    StorageFilter.all());
            this.budget = budget;
        }

        @Override
        public @Nullable Object read(long start, long end) throws IOException {
            return run(PickleInput.of(file, new ByteReader(file, start, end, PickleInput::tooShort), arrays));
        }

        @Override
        public @Nullable Object read(MemorySegment pickle) throws IOException {
            return run(PickleInput.of(pickle, file.location(), arrays));
        }

        private @Nullable Object run(PickleInput input) throws IOException {
            Object state = new Unpickler(input, Unpickler.References.NONE, names, budget).run();
            StateCheck.check(state, false, _ -> {});
            return state;
        }

        @Override
        public List<ForeignClass> classes() {
            return names.classes();
        }
    }

    @Override
    public List<Setting> settings() {
        return List.of(TorchSettings.STRICT);
    }
}
