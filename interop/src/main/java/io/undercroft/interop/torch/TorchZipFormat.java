package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// What `torch.save` writes since PyTorch 1.6: a zip archive of one pickle and one record for each storage.
///
/// Opening reads the directory and the pickle; storages are mapped when they are first touched. The checksums of the
/// pickle and the small records are compared on opening, those of the storages as
/// [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy] defines, and by [Contents#verify]. A writer with checksums
/// switched off writes 0; such records are accepted, and verifying reports how much was not verified.
/// (PyTorch compares no checksum at all.)
///
/// A file may have other bytes before the archive, as when `torch.save` appends to a stream. Such a file is opened if
/// [OpenOptions#format] names this format, as it could be anything.
///
/// TorchScript archives, which hold a program, are recognised and refused.
public final class TorchZipFormat implements CheckpointFormat {
    private static final String PICKLE = "/data.pkl";
    /// No larger pickle is read or written, in bytes.
    static final long LARGEST_PICKLE = 1L << 30;
    private static final long LARGEST_SMALL_RECORD = 64;
    private static final int NEWEST_VERSION = 10;
    /// What a folder has besides storages.
    private static final List<String> SMALL_RECORDS = List.of(PICKLE, "/version", "/byteorder", "/.format_version",
            "/.storage_alignment");

    /// For the service loader.
    public TorchZipFormat() {}

    @Override
    public String name() {
        return "torch-zip";
    }

    /// {@return all but text about the file} Files are written as `torch.save` writes them, for
    /// `torch.load(weights_only=True)`, with `mmap=True` or without. That function does not accept everything that is
    /// read here: a `frozenset`, a `defaultdict` or a tensor of a class of the program is written as it was read, and
    /// `torch.load` loads them only if they are allowed.
    @Override
    public Set<Capability> capabilities() {
        return EnumSet.of(Capability.SAVE, Capability.SHARING, Capability.STATE, Capability.CHECKSUMS);
    }

    @Override
    public List<String> suffixes() {
        return List.of(".pt", ".pth", ".ckpt", "pytorch_model.bin");
    }

    /// Plans a file.
    ///
    /// Storages are written whole, also if the tensors on them need only a part. Storages on another device are written
    /// with its name, and [mapped][OpenOptions#devices] when they are read. A storage on which tensors of several types
    /// are keeps that. Integers of all widths become Python's `int`, and floats its `float`; a tensor on the meta
    /// device keeps its geometry only, as with PyTorch.
    @Override
    public Draft draft(@Nullable Object state, SaveOptions options) {
        return new TorchArchive(TorchArchive.FOLDER, Pickle.of(state, TorchSettings.writesObjects(options)));
    }

    @Override
    public List<Setting> settings() {
        return List.of(TorchSettings.STRICT, TorchSettings.OBJECTS);
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        String first = ZipDirectory.firstName(file).orElse("");
        // Checked first: the directory of a damaged archive cannot be read, which open() reports.
        if (isPickle(first)) {
            return true;
        }
        return !first.isEmpty() && hasPickle(file);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ZipDirectory zip = ZipDirectory.read(file);
        if (zip.before() > 0 && ZipDirectory.firstName(file).isPresent()) {
            throw new FormatException("TORCH-ARCHIVE",
                    "there are two archives in the file, and PyTorch may read the other "
                            + "one than is read here",
                    zip.before(), "Split the file at this byte");
        }
        ZipRecord pickle = pickle(zip);
        String folder = folder(pickle);
        refuseTorchScript(zip, folder);
        checkVersion(zip, folder);
        ByteOrder order = byteOrder(zip, folder);
        Elements elements = new Elements(file, options, order);
        String prefix = folder + "/data/";
        return StorageFilter.read(options, (opening, filter) -> {
            Set<String> known = new HashSet<>();
            ByteReader headers = zip.headers();
            TorchStorages storages = new TorchStorages(opening, filter, entry -> tail(zip, prefix, entry, known),
                    (entry, device) -> open(zip, headers, prefix, entry, elements, device));
            return contents(zip, pickle, storages, ForeignNames.of(TorchSettings.isStrict(options)), known,
                    elements.isForeign()).withPlaces(elements::placeOf);
        });
    }

    /// What the state does not refer to. PyTorch looks at none of it.
    ///
    /// @param known the names of the records of storages
    /// @param used how many bytes of the pickle were read
    private static List<UnreadPart> besides(ZipDirectory zip, ZipRecord pickle, Set<String> known, long used) {
        String folder = folder(pickle);
        SMALL_RECORDS.forEach(name -> known.add(folder + name));
        List<UnreadPart> parts = new ArrayList<>();
        if (used < pickle.size()) {
            parts.add(new UnreadPart(Kind.RECORD, "what is behind the end of the pickle in "
                    + FormatException.quote(pickle.name()), pickle.header(), pickle.size() - used));
        }
        parts.addAll(zip.besides(
                record -> known.contains(record.name()) || record.name().startsWith(folder + "/.data/")));
        return parts;
    }

    /// Records without a checksum count as not verified.
    private static TreeContents contents(ZipDirectory zip, ZipRecord pickle, TorchStorages storages,
            ForeignNames names, Set<String> known, boolean isForeign) throws IOException {
        // PyTorch stores pickles as they are. One that is compressed is paid for by the bytes that it has in the file.
        ReadBudget budget = ReadBudget.of(pickle.compressedSize());
        Unpickled unpickled = load(zip, pickle, storages, names, isForeign, budget);
        List<ZipRecord> unverified = zip.unverified();
        return TreeContents.of(unpickled.state, Map.of(), zip::damages, budget)
                .withUnverified(unverified.size(), unverified.stream().mapToLong(ZipRecord::size).sum())
                .withUnread(besides(zip, pickle, known, unpickled.nbytes))
                .withForeignClasses(names.classes(), tensors -> ModuleNames.of(unpickled.state, tensors));
    }

    /// PyTorch writes all bytes of a storage that is no whole number of elements, and then does not read them.
    private static long tail(ZipDirectory zip, String prefix, TorchStorages.Entry entry, Set<String> known) {
        String name = prefix + entry.key();
        known.add(name);
        long tail = zip.find(name).map(record -> record.size() - entry.counted()).orElse(0L);
        return tail > 0 && tail < entry.itemsize() ? tail : 0;
    }

    private static Storage open(ZipDirectory zip, ByteReader headers, String prefix, TorchStorages.Entry entry,
            Elements elements, Device device) {
        ZipRecord record = zip.find(prefix + checkedKey(entry)).orElseThrow(() -> entry.refused("has no record"));
        if (record.size() != entry.nbytes()) {
            throw entry.refused("of " + entry.nbytes() + " bytes has a record of " + record.size());
        }
        try {
            // Asked now, so that a damaged archive is found when it is opened and not when it is used.
            long data = zip.dataOffset(record, headers);
            OptionalLong place = record.isStored() ? OptionalLong.of(data) : OptionalLong.empty();
            return elements.open(place, entry.nbytes(), entry::dtype, device,
                    record.isStored() ? zip.checksum(record, 0) : null, into -> zip.stream(record).read(0, into));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String checkedKey(TorchStorages.Entry entry) {
        String key = entry.key();
        boolean plain = !key.isEmpty()
                && key.chars().allMatch(c -> (c < 0x80 && Character.isLetterOrDigit(c)) || c == '_' || c == '-');
        if (!plain) {
            throw PickleFault.because("TORCH-STORAGE", FormatException.quote(key) + " is no key of a storage",
                    PickleFault.DAMAGED);
        }
        return key;
    }

    private static boolean hasPickle(MappedFile file) throws IOException {
        try {
            return ZipDirectory.read(file).records().stream().anyMatch(record -> isPickle(record.name()));
        } catch (FormatException _) {
            return false;
        }
    }

    /// The pickle lies in the archive's only folder.
    private static boolean isPickle(String name) {
        return name.endsWith(PICKLE) && name.indexOf('/') == name.length() - PICKLE.length();
    }

    private static String folder(ZipRecord pickle) {
        return pickle.name().substring(0, pickle.name().length() - PICKLE.length());
    }

    private static ZipRecord pickle(ZipDirectory zip) {
        List<ZipRecord> pickles = zip.records().stream().filter(record -> isPickle(record.name())).toList();
        if (pickles.size() != 1) {
            throw new FormatException("TORCH-ARCHIVE",
                    "the archive has " + pickles.size() + " records data.pkl and not one",
                    FormatException.NO_OFFSET, PickleFault.DAMAGED);
        }
        if (pickles.getFirst().size() > LARGEST_PICKLE) {
            throw new FormatException("TORCH-PICKLE", "the pickle has " + pickles.getFirst().size() + " bytes",
                    pickles.getFirst().header(), "Pickles up to " + LARGEST_PICKLE
                            + " bytes are read; keep large data in tensors and not in lists");
        }
        return pickles.getFirst();
    }

    private static void refuseTorchScript(ZipDirectory zip, String folder) {
        if (zip.find(folder + "/constants.pkl").isPresent()) {
            throw new FormatException("TORCH-UNSUPPORTED",
                    "a TorchScript archive, which holds a program and not only tensors",
                    FormatException.NO_OFFSET,
                    "In Python, load it with torch.jit.load and torch.save its state_dict()");
        }
    }

    private static void checkVersion(ZipDirectory zip, String folder) throws IOException {
        String version = smallRecord(zip, folder + "/version");
        if (version == null) {
            version = smallRecord(zip, folder + "/.data/version");
        }
        if (version == null) {
            throw new FormatException("TORCH-VERSION", "the record with the version of the format is missing",
                    FormatException.NO_OFFSET, PickleFault.DAMAGED);
        }
        String digits = version.strip();
        if (!digits.matches("\\d{1,9}") || Integer.parseInt(digits) < 1 || Integer.parseInt(digits) > NEWEST_VERSION) {
            throw new FormatException("TORCH-VERSION", "the format has version " + FormatException.quote(digits),
                    FormatException.NO_OFFSET, "Versions 1 to " + NEWEST_VERSION + " are known");
        }
    }

    /// Older versions wrote no byte order, and ran on little-endian machines.
    private static ByteOrder byteOrder(ZipDirectory zip, String folder) throws IOException {
        String order = smallRecord(zip, folder + "/byteorder");
        return switch (order) {
            case null -> ByteOrder.LITTLE_ENDIAN;
            case "little" -> ByteOrder.LITTLE_ENDIAN;
            case "big" -> ByteOrder.BIG_ENDIAN;
            default -> throw new FormatException("TORCH-BYTEORDER", "the byte order is " + FormatException.quote(order),
                    FormatException.NO_OFFSET, PickleFault.DAMAGED);
        };
    }

    private static @Nullable String smallRecord(ZipDirectory zip, String name) throws IOException {
        ZipRecord record = zip.find(name).orElse(null);
        if (record == null) {
            return null;
        }
        if (record.size() > LARGEST_SMALL_RECORD) {
            throw new FormatException("TORCH-ARCHIVE",
                    "record " + FormatException.quote(name) + " has " + record.size() + " bytes",
                    record.header(), PickleFault.DAMAGED);
        }
        try (Arena arena = Arena.ofConfined()) {
            return new String(zip.read(record, arena).toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
        }
    }

    /// What a pickle builds.
    ///
    /// @param state what it builds
    /// @param nbytes how many bytes it has, up to its end
    private record Unpickled(@Nullable Object state, long nbytes) {}

    private static Unpickled load(ZipDirectory zip, ZipRecord record, TorchStorages storages, ForeignNames names,
            boolean isForeign, ReadBudget budget) throws IOException {
        if (!record.isStored()) {
            budget.takeMemory(record.size());
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pickle = zip.read(record, arena);
            long base = record.isStored() ? zip.dataOffset(record) : FormatException.NO_OFFSET;
            Unpickler unpickler = new Unpickler(pickle, storages::find, names, budget, zip.file());
            Object state = unpickler.run(base);
            StateCheck.check(state, names.isStrict(), tensor -> {
                if (isForeign) {
                    storages.use(tensor.storage(), tensor.dtype());
                }
            });
            return new Unpickled(state, unpickler.position());
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }
}
