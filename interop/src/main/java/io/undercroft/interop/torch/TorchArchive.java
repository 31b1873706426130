package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.TensorsByName;
import io.undercroft.interop.internal.ZipWriter;
import io.undercroft.interop.internal.ZipWriter.Dialect;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport.Loss;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Function;

/// The zip archive that a pickle and its storages are saved as, byte for byte as PyTorch's writer lays it out.
///
/// PyTorch reads such a file without looking at its headers: from the sizes of the storages it computes where each of
/// them starts. So the order of the records, the padding before and the descriptors behind them are part of the format.
///
/// The file is a draft that is used by one thread. Only its serialization id, which no reader looks at, is made
/// otherwise.
final class TorchArchive implements Draft {
    /// The folder in an archive whose file has no name yet, as with PyTorch.
    static final String FOLDER = "archive";

    private static final int ID_DIGITS = 20;

    private final SequencedMap<String, Draft> parts = new LinkedHashMap<>();
    private final String id;
    private final List<String> distrusted;

    /// Plans an archive.
    ///
    /// @param folder the one folder in it
    /// @param pickle what it holds
    TorchArchive(String folder, Pickle pickle) {
        this(folder, pickle, storage -> new StorageBytes(storage, storage.nbytes()));
    }

    /// Plans an archive of other bytes than those of the storages that the pickle names.
    ///
    /// @param bytes the bytes of a storage, as many as it has
    TorchArchive(String folder, Pickle pickle, Function<Storage, Draft> bytes) {
        this.distrusted = pickle.distrusted();
        this.id = folder + "/.data/serialization_id";
        add(folder + "/data.pkl", Storage.wrap(pickle.bytes()));
        add(folder + "/.format_version", "1");
        add(folder + "/.storage_alignment", Long.toString(Storage.ALIGNMENT));
        add(folder + "/byteorder", ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? "little" : "big");
        for (int i = 0; i < pickle.storages().size(); i++) {
            parts.put(folder + "/data/" + i, bytes.apply(pickle.storages().get(i)));
        }
        add(folder + "/version", "3\n");
    }

    private void add(String name, String text) {
        add(name, Storage.copyOf(text.getBytes(UTF_8)));
    }

    private void add(String name, Storage content) {
        parts.put(name, new StorageBytes(content, content.nbytes()));
    }

    /// The bytes of a storage, as many as it had when the archive was planned.
    private record StorageBytes(Storage storage, long nbytes) implements Draft {
        @Override
        public void writeTo(Output output) throws IOException {
            if (storage.nbytes() != nbytes) {
                throw new IllegalStateException(storage.describe() + " had " + nbytes
                        + " bytes, and was resized while it was being saved; save it before or after");
            }
            output.write(storage, 0, nbytes);
        }
    }

    @Override
    public long nbytes() {
        List<String> names = new ArrayList<>(parts.keySet());
        List<Long> sizes = new ArrayList<>(parts.values().stream().map(Draft::nbytes).toList());
        names.add(id);
        sizes.add(2L * ID_DIGITS);
        return ZipWriter.nbytes(Dialect.PYTORCH, names, sizes);
    }

    @Override
    public List<Loss> losses() {
        return distrusted.isEmpty() ? List.of() : List.of(Loss.of(Kind.WEIGHTS_ONLY, distrusted));
    }

    @Override
    public boolean keeps(Object value, String attribute, Set<Capability> format) {
        return keeps(value, attribute);
    }

    /// {@return whether an attribute of a value is there again} A dict, a bytearray and a frozenset of Python have
    /// none.
    static boolean keeps(Object value, String attribute) {
        return switch (value) {
            case TypedMap map when PythonObjects.is(map) -> InertObject.ATTRIBUTES.contains(attribute);
            case TypedMap map -> !TensorsByName.isPlain(map) || map.type().startsWith("collections.");
            case Typed typed -> !typed.type().equals(Globals.BYTEARRAY) && !typed.type().equals(Globals.FROZENSET);
            default -> true;
        };
    }

    @Override
    public void writeTo(Output output) throws IOException {
        try (ZipWriter zip = new ZipWriter(Dialect.PYTORCH, false, output)) {
            for (Map.Entry<String, Draft> part : parts.entrySet()) {
                zip.add(part.getKey(), part.getValue());
            }
            Storage digits = serializationId(zip.records());
            zip.add(id, new StorageBytes(digits, digits.nbytes()));
            zip.finish();
        }
    }

    /// Forty digits by which PyTorch's logs identify files: a hash of the names and one of the checksums.
    private static Storage serializationId(List<ZipWriter.Written> written) {
        long names = 0;
        long sums = 0;
        for (ZipWriter.Written record : written) {
            names = 31 * names + record.name().hashCode();
            sums = 0x9E3779B97F4A7C15L * (sums ^ Integer.toUnsignedLong(record.crc()));
        }
        return Storage.copyOf((digits(names) + digits(sums)).getBytes(UTF_8));
    }

    private static String digits(long hash) {
        return String.format(Locale.ROOT, "%0" + ID_DIGITS + "d", new BigInteger(Long.toUnsignedString(hash)));
    }
}
