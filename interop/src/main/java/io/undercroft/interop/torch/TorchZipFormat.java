package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.TreeContents;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// What `torch.save` writes since PyTorch 1.6: a zip archive of one pickle and one record for each storage.
///
/// Opening reads the directory and the pickle; storages are mapped when they are first touched. The checksums of the
/// pickle and the small records are compared on opening, those of the storages by [Contents#verify]. A writer that was
/// told to compute none leaves them 0, and such records are not checked. (PyTorch compares no checksum at all.)
///
/// TorchScript archives, which hold a program, are recognised and refused.
public final class TorchZipFormat implements CheckpointFormat {
    private static final String PICKLE = "/data.pkl";
    private static final long LARGEST_PICKLE = 1L << 30;
    private static final long LARGEST_SMALL_RECORD = 64;
    private static final int NEWEST_VERSION = 10;

    /// For the service loader.
    public TorchZipFormat() {}

    @Override
    public String name() {
        return "torch-zip";
    }

    @Override
    public boolean matches(MappedFile file) throws IOException {
        String first = ZipDirectory.firstName(file).orElse("");
        // Asked first: the directory of a damaged archive cannot be read, but that open() is to say.
        if (isPickle(first)) {
            return true;
        }
        return !first.isEmpty() && hasPickle(file);
    }

    @Override
    public Contents open(MappedFile file, OpenOptions options) throws IOException {
        ZipDirectory zip = ZipDirectory.read(file);
        ZipRecord pickle = pickle(zip);
        String folder = pickle.name().substring(0, pickle.name().length() - PICKLE.length());
        refuseTorchScript(zip, folder);
        checkVersion(zip, folder);
        ByteOrder order = byteOrder(zip, folder);
        Predicate<String> wanted = options.isPartial()
                ? chosenStorages(zip, pickle,
                        new StorageTable(file, options.onMeta(), zip, folder + "/data/", order, _ -> true), options)
                : _ -> true;
        StorageTable storages = new StorageTable(file, options, zip, folder + "/data/", order, wanted);
        return TreeContents.of(load(zip, pickle, storages), Map.of(), () -> verify(zip))
                .withPlaces(storages::placeOf).only(options);
    }

    /// Which storages are wanted is known only when all tensors have their names: so the pickle is read once before, without
    /// any bytes.
    private static Predicate<String> chosenStorages(ZipDirectory zip, ZipRecord pickle, StorageTable blank,
            OpenOptions options) throws IOException {
        TreeContents names = TreeContents.of(load(zip, pickle, blank), Map.of(), List::of).only(options);
        return blank.keys(names.storages())::contains;
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

    private static ZipRecord pickle(ZipDirectory zip) {
        List<ZipRecord> pickles = zip.records().stream().filter(record -> isPickle(record.name())).toList();
        if (pickles.size() != 1) {
            throw new FormatException("TORCH-ARCHIVE",
                    "the archive has " + pickles.size() + " records data.pkl and not one",
                    FormatException.NO_OFFSET, Refused.DAMAGED);
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
                    FormatException.NO_OFFSET, Refused.DAMAGED);
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
                    FormatException.NO_OFFSET, Refused.DAMAGED);
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
                    record.header(), Refused.DAMAGED);
        }
        try (Arena arena = Arena.ofConfined()) {
            return new String(zip.read(record, arena).toArray(ValueLayout.JAVA_BYTE), ISO_8859_1);
        }
    }

    private static @Nullable Object load(ZipDirectory zip, ZipRecord record, StorageTable storages) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pickle = zip.read(record, arena);
            long base = record.isStored() ? zip.dataOffset(record) : FormatException.NO_OFFSET;
            Object state = new Unpickler(new PickleInput(pickle), storages::find).run(base);
            StateCheck.check(state, tensor -> storages.use(tensor.storage(), tensor.dtype()));
            return state;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static List<Damage> verify(ZipDirectory zip) throws IOException {
        List<Damage> damages = new ArrayList<>();
        for (ZipRecord record : zip.records()) {
            try {
                zip.check(record);
            } catch (FormatException e) {
                damages.add(new Damage("record " + record.name(), e.offset(), record.compressedSize(), e.what()));
            }
        }
        return damages;
    }
}
