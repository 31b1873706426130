package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.PickleReader;
import io.undercroft.interop.internal.PickleReader.Pickles;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.interop.internal.numpy.ArrayBytes;
import io.undercroft.interop.internal.numpy.ArrayNodes;
import io.undercroft.interop.internal.numpy.ArrayNodes.Allowance;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.FileStorages.Decoder;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `numpy.savez` and `savez_compressed` write: a zip archive of arrays. The state is a map of the arrays by the
/// names of the records without `.npy`: tensors, and nodes for texts, dates and records.
///
/// Arrays that are stored are mapped in place if they are aligned; those that NumPy wrote need not be, and are copied
/// then. Deflated ones are decoded when they are first touched. Checksums are compared for bytes that are copied and
/// decoded, for mapped bytes as [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy] defines, and by verifying,
/// which counts what has no checksum. Ours are aligned to 64 bytes, and compressed if the setting `npz.compression` is
/// `deflate`.
public final class NpzFormat implements CheckpointFormat {
    private static final String SUFFIX = ".npy";
    /// The end of the name of the record that each archive of PyTorch has.
    private static final String PICKLE = "/data.pkl";
    /// The prefix of the codes of exceptions that concern one record.
    private static final List<String> UNREADABLE = List.of("NPY", "ZIP", "TORCH");
    private static final String COMPRESSION = "npz.compression";

    /// For the service loader.
    public NpzFormat() {}

    @Override
    public String name() {
        return "npz";
    }

    /// An archive with an array, which is none of PyTorch: that may hold a record of any name among others.
    @Override
    public boolean matches(MappedFile file) throws IOException {
        String first = ZipDirectory.firstName(file).orElse("");
        return first.isEmpty() ? ZipDirectory.isEmpty(file) : holdsArrays(file, first);
    }

    private static boolean holdsArrays(MappedFile file, String first) throws IOException {
        try {
            ZipDirectory zip = ZipDirectory.read(file);
            return zip.records().stream().anyMatch(NpzFormat::isArray)
                    && zip.records().stream().noneMatch(record -> record.name().endsWith(PICKLE));
        } catch (FormatException _) {
            // The directory of a damaged archive cannot be read, which open() reports.
            return first.endsWith(SUFFIX);
        }
    }

    /// Each record is read by itself, as NumPy does: one that cannot be read becomes an [Unreadable]. Every record has
    /// a checksum, also if that is 0, as for Python's `zipfile`.
    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ZipDirectory zip = ZipDirectory.readWithChecksums(file);
        zip.fetchHeaders();
        if (!zip.records().isEmpty() && zip.records().stream().noneMatch(NpzFormat::isArray)) {
            ZipRecord first = zip.records().getFirst();
            throw new FormatException("NPZ-RECORD",
                    "the record " + FormatException.quote(first.name()) + " is no array, nor is any other",
                    first.header(), "Name another format, or none");
        }
        FileStorages storages = new FileStorages(file, options);
        ReadBudget budget = ReadBudget.of(file.size());
        Allowance allowance = new Allowance(budget);
        Pickles pickles = PickleReader.in(file, options, budget);
        SequencedMap<String, @Nullable Object> arrays = LinkedHashMap.newLinkedHashMap(zip.records().size());
        for (ZipRecord record : zip.records()) {
            if (isArray(record)) {
                String name = name(record.name(), "");
                budget.takeMemory(ReadBudget.ENTRY);
                arrays.put(name, array(name, new RecordBytes(zip, record, storages), options, allowance, pickles,
                        budget));
            }
        }
        List<ZipRecord> unverified = zip.unverified();
        return TreeContents.of(arrays, Map.of(), pulse -> zip.damages(options.progress(), pulse), budget)
                .withUnverified(unverified.size(), unverified.stream().mapToLong(ZipRecord::size).sum())
                .withUnread(zip.besides(NpzFormat::isArray))
                .withForeignClasses(pickles.classes()).only(options);
    }

    private static boolean isArray(ZipRecord record) {
        return record.name().endsWith(SUFFIX);
    }

    private static @Nullable Object array(String name, RecordBytes bytes, OpenOptions options, Allowance allowance,
            Pickles pickles, ReadBudget budget) throws IOException {
        try {
            NpyHeader header = bytes.header(budget);
            if (header.isPickled()) {
                return bytes.behind(header).objects(pickles, budget);
            }
            return new ArrayNodes(header.layout(), bytes.behind(header), options::isChosen, allowance)
                    .node(StateIndex.escape(name));
        } catch (ArithmeticException | IllegalArgumentException e) {
            return unreadable(NpyHeader.impossible(e, bytes.record.header()), bytes, budget);
        } catch (FormatException e) {
            if (UNREADABLE.stream().anyMatch(e.code()::startsWith)) {
                return unreadable(e, bytes, budget);
            }
            // An exceeded budget or a missing device concerns all records.
            throw e;
        }
    }

    private static Tensor unreadable(FormatException e, RecordBytes bytes, ReadBudget budget) {
        budget.takeMemory(ReadBudget.UNREADABLE);
        String record = "record " + FormatException.quote(bytes.record.name());
        String what = e.what().contains(FormatException.quote(bytes.record.name()))
                ? e.what()
                : record + ": " + e.what();
        return Unreadable.tensor(
                new FormatException(e.code(), what, e.offset(), e.remedy()).withFile(bytes.zip.file()));
    }

    /// The elements of an array that is a record of an archive.
    ///
    /// @param skipped the bytes of the header
    private record RecordBytes(ZipDirectory zip, ZipRecord record, FileStorages storages,
            int skipped) implements ArrayBytes {
        RecordBytes(ZipDirectory zip, ZipRecord record, FileStorages storages) {
            this(zip, record, storages, 0);
        }

        RecordBytes behind(NpyHeader header) {
            return new RecordBytes(zip, record, storages, header.length());
        }

        @Nullable
        Object objects(Pickles pickles, ReadBudget budget) throws IOException {
            if (record.isStored()) {
                zip.stream(record).check();
                long start = zip.dataOffset(record);
                return pickles.read(start + skipped, start + record.size());
            }
            budget.takeMemory(record.size());
            try (Arena arena = Arena.ofConfined()) {
                return pickles.read(zip.read(record, arena).asSlice(skipped));
            }
        }

        NpyHeader header(ReadBudget budget) throws IOException {
            long base = record.isStored() ? zip.dataOffset(record) : FormatException.NO_OFFSET;
            NpyHeader header = NpyHeader.read(count -> zip.stream(record).first(count), record.size(), base, budget);
            header.requireEnd(record.size(), base);
            return header;
        }

        @Override
        public Storage stored(int alignment) throws IOException {
            long nbytes = record.size() - skipped;
            return record.isStored()
                    ? storages.stored(zip.dataOffset(record) + skipped, nbytes, alignment,
                            zip.checksum(record, skipped))
                    : storages.decoded(nbytes, into -> zip.stream(record).read(skipped, into));
        }

        @Override
        public Storage decoded(Object form, long nbytes, Decoder decoder) {
            return storages.decoded(nbytes, decoder);
        }

        @Override
        public void forEachPart(Part part) throws IOException {
            zip.stream(record).forEachPart(skipped, part::accept);
        }
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.CHECKSUMS);
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofWriting(COMPRESSION, "stored, deflate"));
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        SequencedMap<String, Draft> arrays = new LinkedHashMap<>();
        TensorsByName.of(state, name(), ArrayDraft::isArray)
                .forEach((name, array) -> arrays.put(record(name), ArrayDraft.of(name, array)));
        FormatSettings settings = options::setting;
        return new ArchiveDraft(arrays, settings.isOther(COMPRESSION, "stored", "deflate"));
    }

    /// {@return the name of the tensor that a record holds}
    ///
    /// @param record the name of the record
    /// @param field the path of the tensor in it; empty if it is all of it
    static String name(String record, String field) {
        String name = record.substring(0, record.length() - SUFFIX.length());
        return field.isEmpty() ? name : name + "/" + field;
    }

    private static String record(String name) {
        if (name.indexOf(0) >= 0) {
            throw new IllegalArgumentException(
                    FormatException.quote(name)
                            + ": Python ends the name of a record at a zero; call the tensor otherwise");
        }
        return name + SUFFIX;
    }
}
