package io.undercroft.interop.numpy;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.FormatSettings;
import io.undercroft.interop.internal.NamedTensors;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.FileStorages;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.spi.Unreadable;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `numpy.savez` and `savez_compressed` write: a zip archive of arrays. The state is a map of the tensors by the
/// names of the records without `.npy`.
///
/// Arrays that are stored are mapped in place if they are aligned; those that NumPy wrote need not be, and are copied
/// then. Deflated ones are decoded when they are first touched. Checksums are compared for bytes that are copied and
/// decoded, for mapped bytes as [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy] defines, and by verifying,
/// which counts what has no checksum. Ours are aligned to 64 bytes, and compressed if the setting `npz.compression` is
/// `deflate`.
public final class NpzFormat implements CheckpointFormat {
    private static final String SUFFIX = ".npy";
    private static final String COMPRESSION = "npz.compression";

    /// For the service loader.
    public NpzFormat() {}

    @Override
    public String name() {
        return "npz";
    }

    /// An archive of arrays only: a file of PyTorch may hold a record of any name among others.
    @Override
    public boolean matches(MappedFile file) throws IOException {
        String first = ZipDirectory.firstName(file).orElse("");
        return first.endsWith(SUFFIX) ? holdsArraysOnly(file) : ZipDirectory.isEmpty(file);
    }

    private static boolean holdsArraysOnly(MappedFile file) throws IOException {
        try {
            return ZipDirectory.read(file).records().stream().allMatch(record -> record.name().endsWith(SUFFIX));
        } catch (FormatException _) {
            // The directory of a damaged archive cannot be read, which open() reports.
            return true;
        }
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ZipDirectory zip = ZipDirectory.read(file);
        FileStorages storages = new FileStorages(file, options);
        ReadBudget budget = ReadBudget.of(file.size());
        SequencedMap<String, Tensor> tensors = LinkedHashMap.newLinkedHashMap(zip.records().size());
        for (ZipRecord record : zip.records()) {
            if (!record.name().endsWith(SUFFIX)) {
                throw new FormatException("NPZ-RECORD",
                        "the record " + FormatException.quote(record.name()) + " is no array", record.header(),
                        "Take it out of the archive");
            }
            String name = record.name().substring(0, record.name().length() - SUFFIX.length());
            budget.takeMemory(ReadBudget.TENSOR);
            NpyHeader header;
            try {
                header = header(zip, record);
            } catch (FormatException e) {
                if (!e.code().startsWith("NPY")) {
                    throw e;
                }
                // NumPy reads each record by itself, too.
                budget.takeMemory(ReadBudget.UNREADABLE);
                tensors.put(name, Unreadable.tensor(e.withFile(file.path().toString())));
                continue;
            }
            // A compressed header takes a hundredth of that in the file.
            budget.takeMemory(record.isStored() ? 0 : 3L * header.length());
            budget.takeSteps(header.length());
            tensors.put(name, header.on(options.request().isChosen(StateIndex.escape(name))
                    ? storage(zip, record, storages, header)
                    : storages.blank(header.nbytes())));
        }
        List<ZipRecord> unverified = zip.unverified();
        return TreeContents.of(tensors, Map.of(), zip::damages, budget).withPlaces(storages::placeOf)
                .withUnverified(unverified.size(), unverified.stream().mapToLong(ZipRecord::size).sum())
                .withUnread(zip.besides(_ -> true)).only(options);
    }

    private static NpyHeader header(ZipDirectory zip, ZipRecord record) throws IOException {
        try {
            long base = record.isStored() ? zip.dataOffset(record) : FormatException.NO_OFFSET;
            return NpyHeader.read(count -> zip.stream(record).first(count), record.size(), base);
        } catch (FormatException e) {
            throw e.code().startsWith("NPY")
                    ? new FormatException(e.code(), "record " + FormatException.quote(record.name()) + ": " + e.what(),
                            e.offset(), e.remedy())
                    : e;
        }
    }

    private static Storage storage(ZipDirectory zip, ZipRecord record, FileStorages storages, NpyHeader header)
            throws IOException {
        if (record.isStored() && header.type().isNative()) {
            return storages.stored(zip.dataOffset(record) + header.length(), header.nbytes(),
                    FileStorages.alignment(header.type().dtype()), zip.checksum(record, header.length()));
        }
        return storages.decoded(header.nbytes(), into -> {
            zip.stream(record).read(header.length(), into);
            if (!header.type().isNative()) {
                Storage.wrap(into).byteswap(header.type().dtype());
            }
        });
    }

    @Override
    public Set<Capability> capabilities() {
        return Set.of(Capability.SAVE, Capability.CHECKSUMS);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".npz");
    }

    @Override
    public List<Setting> settings() {
        return List.of(Setting.ofWriting(COMPRESSION, "stored, deflate"));
    }

    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        SequencedMap<String, Draft> arrays = new LinkedHashMap<>();
        NamedTensors.of(state, name())
                .forEach((name, tensor) -> arrays.put(record(name), ArrayDraft.of(name, tensor)));
        FormatSettings settings = options.request()::setting;
        return new ArchiveDraft(arrays, settings.isOther(COMPRESSION, "stored", "deflate"));
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
