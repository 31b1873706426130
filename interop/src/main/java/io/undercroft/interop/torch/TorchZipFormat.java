package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.ForeignArchive;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
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
/// A TorchScript archive holds a program besides. It is opened as its `state_dict()`; [Contents#unread] reports the
/// program, which is never run. An archive of `torch.export` opens as the tensors of its programs.
public final class TorchZipFormat implements CheckpointFormat {
    private static final String PICKLE = "/data.pkl";
    /// The directory of the storages.
    private static final String DATA = "/data";
    /// Records that only a TorchScript archive has: a pickle, and code.
    private static final String CONSTANTS = "/constants.pkl";
    private static final String CODE = "/code/";
    /// The record that a TorchScript archive of 2019 has in place of the pickle.
    private static final String MODEL = "/model.json";
    /// The maximum number of files of code that are named.
    static final int SHOWN = 3;
    /// No larger pickle is read or written, in bytes.
    static final long LARGEST_PICKLE = 1L << 30;
    private static final long LARGEST_SMALL_RECORD = 64;
    private static final int NEWEST_VERSION = 10;
    /// Records of a folder other than storages.
    private static final List<String> SMALL_RECORDS = List.of(PICKLE, "/version", "/byteorder", "/.format_version",
            "/.storage_alignment");

    /// The remedy for a part of a distributed checkpoint.
    private static final String DISTRIBUTED = "Open the directory of the checkpoint, or the file .metadata in it. Save"
            + " objects of one stream each to a file of its own";

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
    public Optional<FormatException> refusal(MappedFile file) throws IOException {
        return ForeignArchive.refusal(file);
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
        if (zip.before() > 0) {
            checkBefore(file, zip.before());
        }
        return open(file, zip, options, null);
    }

    /// Opens an archive that may be a part of a file.
    ///
    /// @param shared the limit for reading this archive and others; null for one of its own
    /// @throws FormatException if it is malformed
    static TreeContents open(MappedFile file, ZipDirectory zip, OpenOptions options, @Nullable ReadBudget shared)
            throws IOException {
        boolean isExport = isExport(zip);
        zip.fetchHeaders();
        return StorageFilter.read(options, (opening, filter) -> isExport
                ? new ExportArchive(file, zip, opening, filter).contents()
                : read(file, zip, opening, filter, shared));
    }

    /// Reads an archive of a pickle, as [#open(MappedFile, ZipDirectory, OpenOptions, ReadBudget)], with all tensors.
    ///
    /// @param filter which storages have bytes
    static TreeContents read(MappedFile file, ZipDirectory zip, OpenOptions opening, StorageFilter filter,
            @Nullable ReadBudget shared) throws IOException {
        ZipRecord pickle = pickle(zip);
        String folder = folder(pickle);
        checkVersion(zip, folder);
        ByteOrderStorages elements = new ByteOrderStorages(file, opening, byteOrder(zip, folder + "/byteorder"));
        Set<String> known = new HashSet<>();
        ByteReader headers = zip.headers();
        Storages storages = part -> storages(zip, headers, folder + part + "/", known, elements, opening,
                part.equals(DATA) ? filter : filter.in(part));
        Archive archive = new Archive(file, zip, ArrayStorages.of(elements, opening, filter),
                ForeignNames.of(TorchSettings.isStrict(opening)), elements.isForeign(), opening.progress(), shared);
        return zip.find(folder + CONSTANTS).isPresent()
                ? program(archive, pickle, storages, known)
                : contents(archive, pickle, storages.in(DATA), known);
    }

    /// {@return the storages that are the records in a directory}
    ///
    /// @param prefix the directory, with a slash at its end
    /// @param known receives the names of these records
    static TorchStorages storages(ZipDirectory zip, ByteReader headers, String prefix, Set<String> known,
            ByteOrderStorages elements, OpenOptions opening, StorageFilter filter) {
        return new TorchStorages(opening, filter, entry -> tail(zip, prefix, entry, known),
                (entry, device) -> open(zip, headers, prefix, entry, elements, device));
    }

    /// Refuses other archives before the one that the file ends with, and an archive whose records are not where its
    /// directory has them.
    private static void checkBefore(MappedFile file, long before) throws IOException {
        Optional<String> first = ZipDirectory.firstName(file);
        if (first.isEmpty()) {
            return;
        }
        if (!ZipDirectory.endsAt(file, before)) {
            throw new FormatException("TORCH-ARCHIVE", "the archive does not begin where its directory says: its first"
                    + " record starts at this byte, and other records come before it", before, PickleFault.DAMAGED);
        }
        // The name that torch.save uses for a stream without a name.
        throw first.get().equals(TorchArchive.FOLDER + PICKLE)
                ? new FormatException("TORCH-UNSUPPORTED", "the file is a row of archives, as torch.save writes to one"
                        + " stream, and as a shard (.distcp) of a distributed checkpoint of PyTorch is: its names are"
                        + " in the file .metadata of the directory",
                        0, DISTRIBUTED)
                : new FormatException("TORCH-UNSUPPORTED", "there are two archives in the file, one after the other,"
                        + " and PyTorch may read the other one than is read here", before,
                        "Open each of the files that it was made of");
    }

    /// An archive that is read.
    ///
    /// @param file the file that it is in
    /// @param arrays makes the storages of arrays that are in pickles
    /// @param names receives the names that are not in the table
    /// @param isForeign whether the elements of storages have to be swapped
    /// @param progress called when the archive is verified
    /// @param shared the limit for reading it and others, or null
    private record Archive(MappedFile file, ZipDirectory zip, ArrayStorages arrays, ForeignNames names,
            boolean isForeign, ProgressListener progress, @Nullable ReadBudget shared) {
        /// {@return the limit for reading pickles}
        ///
        /// @param nbytes the bytes that they have in the file
        ReadBudget budget(long nbytes) {
            return shared == null ? ReadBudget.of(nbytes) : shared;
        }
    }

    /// The storages in the parts of an archive.
    private interface Storages {
        TorchStorages in(String part);
    }

    /// Returns the records that the state does not refer to. PyTorch ignores them.
    ///
    /// @param known the names of the records of storages
    /// @param used how many bytes of the pickle were read
    private static List<UnreadPart> besides(ZipDirectory zip, ZipRecord pickle, Set<String> known, long used) {
        String folder = folder(pickle);
        for (String name : SMALL_RECORDS) {
            known.add(folder + name);
        }
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
    private static TreeContents contents(Archive archive, ZipRecord pickle, TorchStorages storages, Set<String> known)
            throws IOException {
        ZipDirectory zip = archive.zip;
        // PyTorch stores pickles uncompressed. A compressed one is charged by its bytes in the file.
        ReadBudget budget = archive.budget(pickle.compressedSize());
        Unpickled unpickled = load(archive, pickle, storages, budget);
        return contents(archive, unpickled.state, budget, besides(zip, pickle, known, unpickled.nbytes));
    }

    private static TreeContents contents(Archive archive, @Nullable Object state, ReadBudget budget,
            List<UnreadPart> unread) {
        return archive.names.addTo(contents(archive.zip, archive.progress, state, Map.of(), budget), unread);
    }

    /// {@return contents that are verified by the checksums of an archive}
    static TreeContents contents(ZipDirectory zip, ProgressListener progress, @Nullable Object state,
            Map<String, String> metadata, ReadBudget budget) {
        List<ZipRecord> unverified = zip.unverified();
        // Without records to be added up, no class of streams is loaded.
        long nbytes = unverified.isEmpty() ? 0 : unverified.stream().mapToLong(ZipRecord::size).sum();
        return TreeContents.of(state, metadata, pulse -> zip.damages(progress, pulse), budget)
                .withUnverified(unverified.size(), nbytes);
    }

    /// What is in a TorchScript archive, which has a pickle of a module and one of the tensors that its code refers to.
    private static TreeContents program(Archive archive, ZipRecord pickle, Storages storages, Set<String> known)
            throws IOException {
        ZipDirectory zip = archive.zip;
        String folder = folder(pickle);
        ZipRecord constants = zip.find(folder + CONSTANTS).orElseThrow();
        List<ZipRecord> code = zip.records().stream().filter(record -> record.name().startsWith(folder + CODE))
                .toList();
        ReadBudget budget = archive.budget(Stream.concat(Stream.of(pickle, constants), code.stream())
                .mapToLong(ZipRecord::compressedSize).sum());
        Unpickled module = load(archive, pickle, storages.in(DATA), budget);
        Object values = load(archive, constants, storages.in("/constants"), budget).state;
        TypedMap state = ScriptState.of(module.state, values, new ScriptClasses(zip, folder, budget), budget);
        known.add(constants.name());
        List<UnreadPart> parts = new ArrayList<>();
        if (!code.isEmpty()) {
            code.forEach(record -> known.add(record.name()));
            parts.add(codeIn(code));
        }
        parts.addAll(besides(zip, pickle, known, module.nbytes));
        return contents(archive, state, budget, parts).withForeignClasses(archive.names.classes().stream()
                .filter(each -> !each.name().startsWith(ScriptClasses.ROOT)).toList());
    }

    private static UnreadPart codeIn(List<ZipRecord> code) {
        List<String> files = code.stream().map(ZipRecord::name).filter(name -> name.endsWith(".py"))
                .map(FormatException::quote).toList();
        String shown = String.join(", ", files.subList(0, Math.min(SHOWN, files.size())));
        return new UnreadPart(Kind.RECORD,
                String.format(Locale.ROOT, "a TorchScript program, which is not run, in %,d file%s of code: %s%s",
                        files.size(), files.size() == 1 ? "" : "s", shown,
                        files.size() > SHOWN ? String.format(Locale.ROOT, " and %,d more", files.size() - SHOWN) : ""),
                code.stream().mapToLong(ZipRecord::header).min().orElse(0),
                code.stream().mapToLong(ZipRecord::size).sum());
    }

    /// PyTorch writes all bytes of a storage that is no whole number of elements, and then does not read them.
    private static long tail(ZipDirectory zip, String prefix, TorchStorages.Entry entry, Set<String> known) {
        String name = prefix + entry.key();
        known.add(name);
        Optional<ZipRecord> record = zip.find(name);
        long tail = record.isPresent() ? record.get().size() - entry.counted() : 0;
        return tail > 0 && tail < entry.itemsize() ? tail : 0;
    }

    private static Storage open(ZipDirectory zip, ByteReader headers, String prefix, TorchStorages.Entry entry,
            ByteOrderStorages elements, Device device) {
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

    /// A number, which TorchScript archives for mobile devices have with the suffix `.storage`.
    private static String checkedKey(TorchStorages.Entry entry) {
        String key = entry.key();
        boolean plain = !key.isEmpty() && !key.startsWith(".");
        for (int i = 0; i < key.length(); i++) {
            char c = key.charAt(i);
            plain &= (c < 0x80 && Character.isLetterOrDigit(c)) || c == '_' || c == '-' || c == '.';
        }
        if (!plain) {
            throw PickleFault.because("TORCH-STORAGE", FormatException.quote(key) + " is no key of a storage",
                    PickleFault.DAMAGED);
        }
        return key;
    }

    private static boolean hasPickle(MappedFile file) throws IOException {
        try {
            return ZipDirectory.read(file).records().stream()
                    .anyMatch(record -> isPickle(record.name()) || isModel(record.name())
                            || ExportArchive.isRecord(record.name()));
        } catch (FormatException _) {
            return false;
        }
    }

    /// The pickle lies in the archive's only folder.
    private static boolean isExport(ZipDirectory zip) {
        boolean isExport = false;
        for (ZipRecord record : zip.records()) {
            if (isPickle(record.name())) {
                return false;
            }
            isExport |= ExportArchive.isRecord(record.name());
        }
        return isExport;
    }

    private static boolean isPickle(String name) {
        return name.endsWith(PICKLE) && name.indexOf('/') == name.length() - PICKLE.length();
    }

    private static boolean isModel(String name) {
        return name.endsWith(MODEL) && name.indexOf('/') == name.length() - MODEL.length();
    }

    private static String folder(ZipRecord pickle) {
        return pickle.name().substring(0, pickle.name().length() - PICKLE.length());
    }

    private static ZipRecord pickle(ZipDirectory zip) {
        List<ZipRecord> pickles = new ArrayList<>();
        for (ZipRecord record : zip.records()) {
            if (isPickle(record.name())) {
                pickles.add(record);
            }
        }
        if (pickles.isEmpty() && zip.records().stream().anyMatch(record -> isModel(record.name()))) {
            throw new FormatException("TORCH-UNSUPPORTED",
                    "a TorchScript archive of 2019, which describes its tensors in model.json",
                    FormatException.NO_OFFSET,
                    "Load it with torch.jit.load of PyTorch 1.4 to 1.13, and torch.save its state_dict()");
        }
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
    static ByteOrder byteOrder(ZipDirectory zip, String record) throws IOException {
        String order = smallRecord(zip, record);
        if (order == null || order.equals("little")) {
            return ByteOrder.LITTLE_ENDIAN;
        }
        if (order.equals("big")) {
            return ByteOrder.BIG_ENDIAN;
        }
        throw new FormatException("TORCH-BYTEORDER", "the byte order is " + FormatException.quote(order),
                FormatException.NO_OFFSET, PickleFault.DAMAGED);
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

    /// The result of a pickle.
    ///
    /// @param state what it builds
    /// @param nbytes how many bytes it has, up to its end
    private record Unpickled(@Nullable Object state, long nbytes) {}

    private static Unpickled load(Archive archive, ZipRecord record, TorchStorages storages, ReadBudget budget)
            throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            PickleInput input = input(archive, record, arena, budget);
            Object state = new Unpickler(input, storages::find, archive.names, budget).run();
            StateCheck.check(state, archive.names.isStrict(), tensor -> {
                if (archive.isForeign) {
                    storages.use(tensor.storage(), tensor.dtype());
                }
            });
            return new Unpickled(state, input.used());
        } catch (MappingException e) {
            throw e;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /// A pickle is checked before it is run; arrays that are stored uncompressed are mapped in place.
    private static PickleInput input(Archive archive, ZipRecord record, Arena arena, ReadBudget budget)
            throws IOException {
        ZipDirectory zip = archive.zip;
        if (!record.isStored()) {
            budget.takeMemory(record.size());
            return PickleInput.of(zip.read(record, arena), zip.file(), archive.arrays);
        }
        zip.stream(record).check();
        long start = zip.dataOffset(record);
        return PickleInput.of(archive.file,
                new ByteReader(archive.file, start, start + record.size(), PickleInput::tooShort), archive.arrays);
    }
}
