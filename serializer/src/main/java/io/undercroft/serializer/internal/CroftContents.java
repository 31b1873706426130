package io.undercroft.serializer.internal;

import io.undercroft.format.ByteSource;
import io.undercroft.format.DTypeRecord;
import io.undercroft.format.ExtentRecord;
import io.undercroft.format.FormatException;
import io.undercroft.format.Rule;
import io.undercroft.format.Snapshot;
import io.undercroft.format.StorageRecord;
import io.undercroft.format.TensorRecord;
import io.undercroft.format.Verifier;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedCollection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// The contents of a `.croft` file. Tensors and storages are made when they are asked for, the state tree likewise; a tensor
/// is found by name without the tree, and without looking at any other. Records are checked when they are used, so any method may
/// find that the file is damaged.
final class CroftContents implements Contents, StateDecoder.Tables {
    private final MappedFile file;
    private final ByteSource source;
    private final Snapshot snapshot;
    private final OpenOptions options;
    private final Map<Integer, Storage> storages = new ConcurrentHashMap<>();
    private final Map<Integer, Tensor> tensors = new ConcurrentHashMap<>();
    private final Object treeLock = new Object();
    private volatile @Nullable Tree tree;

    /// The decoded state with its names. (A record, since the state itself may be null.)
    private record Tree(@Nullable Object state, StateIndex names) {}

    CroftContents(MappedFile file, ByteSource source, Snapshot snapshot, OpenOptions options) {
        this.file = file;
        this.source = source;
        this.snapshot = snapshot;
        this.options = options;
    }

    @Override
    public @Nullable Object state() {
        return tree().state;
    }

    @Override
    public Map<String, String> metadata() {
        return reading(snapshot::metadata);
    }

    @Override
    public SequencedCollection<String> names() {
        return tree().names.tensors().sequencedKeySet();
    }

    @Override
    public Optional<Tensor> tensor(String name) {
        return reading(() -> {
            int number = snapshot.findTensor(name);
            return number < 0 ? Optional.<Tensor>empty() : Optional.of(tensor(number));
        });
    }

    @Override
    public List<Storage> storages() {
        return reading(() -> IntStream.range(0, snapshot.storageCount()).mapToObj(this::storage).toList());
    }

    @Override
    public List<Damage> verify() throws IOException {
        List<Damage> damages = new ArrayList<>();
        for (io.undercroft.format.Damage damage : Verifier.verify(source, snapshot)) {
            damages.add(new Damage(place(damage.storage()), damage.offset(), damage.length(),
                    damage.what() + " [" + damage.rule().code() + "]"));
        }
        if (damages.isEmpty()) {
            tree();
        }
        return damages;
    }

    /// Only the storages that were asked for exist.
    @Override
    public void release() {
        storages.values().forEach(Contents::release);
    }

    /// Runs something that reads the index, which is mapped if it is large: the file may have become shorter. What is wrong
    /// is said with the file's name.
    private <T extends @Nullable Object> T reading(Supplier<T> access) {
        try {
            return file.guard(access);
        } catch (FormatException e) {
            throw e.file() == null ? e.withFile(file.path().toString()) : e;
        }
    }

    @Override
    public Tensor tensor(int number) {
        return tensors.computeIfAbsent(checkNumber(number, snapshot.tensorCount(), "tensor"), this::makeTensor);
    }

    @Override
    public Storage storage(int number) {
        return storages.computeIfAbsent(checkNumber(number, snapshot.storageCount(), "storage"), this::makeStorage);
    }

    @Override
    public DType dtype(int number) {
        DTypeRecord record = snapshot.dtype(checkNumber(number, snapshot.dtypeCount(), "dtype"));
        return DType.opaque(record.name(), record.bits());
    }

    private Tensor makeTensor(int number) {
        TensorRecord record = snapshot.tensor(number);
        Set<Tensor.Flag> flags = TensorFlags.fromFile(record.flags());
        DType dtype = dtype(record.dtype());
        try {
            return Tensor
                    .of(storage(record.storage()), dtype, elementOffset(record, dtype), Shape.of(record.shape()),
                            record.stride())
                    .withFlags(flags);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw Rule.V5_STRIDE_RANGE.broken("tensor " + number + " cannot be made: " + e.getMessage(),
                    FormatException.NO_OFFSET);
        }
    }

    /// The storage offset in elements; the file has it in bytes and bits, so that any dtype can be laid over a storage.
    private static long elementOffset(TensorRecord record, DType dtype) {
        long bits = Math.addExact(Math.multiplyExact(record.byteOffset(), 8), record.bitOffset());
        if (bits % dtype.bits() != 0) {
            throw new IllegalArgumentException(
                    "it starts at byte " + record.byteOffset() + ", which is not a multiple of the size of "
                            + dtype.name());
        }
        return bits / dtype.bits();
    }

    private Storage makeStorage(int number) {
        StorageRecord record = snapshot.storage(number);
        Device device = options.deviceFor(savedDevice(record));
        if (device.isMeta()) {
            return Storage.meta(record.nbytes());
        }
        if (!device.isCpu()) {
            throw new FormatException("CROFT-DEVICE",
                    "storage " + number + " belongs on " + device + ", which is not there",
                    FormatException.NO_OFFSET, "Map devices when opening: OpenOptions.devices(d -> Device.CPU)");
        }
        return Storage.deferred(record.nbytes(), () -> reading(() -> allocate(record)));
    }

    private static Device savedDevice(StorageRecord record) {
        try {
            return Device.parse(record.device());
        } catch (IllegalArgumentException _) {
            throw Rule.V15_STRUCTURE.broken("a storage has the device '" + FormatException.quote(record.device()) + "'",
                    FormatException.NO_OFFSET);
        }
    }

    /// One extent is a window on the mapping that all share, unless another storage has the same bytes of the file. What is
    /// not a window is a mapping or copy of its own, so that writing to one storage does not show in another.
    private Allocation allocate(StorageRecord record) {
        List<ExtentRecord> extents = IntStream.range(record.firstExtent(), record.firstExtent() + record.extentCount())
                .mapToObj(snapshot::extent)
                .toList();
        List<Piece> pieces = extents.stream().map(this::piece).toList();
        boolean shared = extents.stream().anyMatch(ExtentRecord::isShared);
        if (shared && file.mode() == MapMode.SHARED) {
            throw new UnsupportedOperationException(
                    "a storage has bytes of the file in common with another one; mapped "
                            + "shared, writing to one would show in the other");
        }
        return pieces.size() == 1 && !shared
                && pieces.getFirst() instanceof Piece.FilePiece(MappedFile _, long offset, long length)
                        ? file.window(offset, length)
                        : file.allocation(pieces);
    }

    private Piece piece(ExtentRecord extent) {
        if (extent.base() != ExtentRecord.THIS_FILE) {
            throw Rule.V18_BASE.broken("bytes of a storage stand in the file "
                    + FormatException.quote(snapshot.base(extent.base() - 1).path()) + ", which is not open",
                    FormatException.NO_OFFSET);
        }
        return switch (extent.kind()) {
            case RAW, FOREIGN -> file.piece(extent.fileOffset(), extent.storedLength());
            case ZERO -> new Piece.ZeroPiece(extent.logicalLength());
        };
    }

    private Tree tree() {
        Tree there = tree;
        if (there != null) {
            return there;
        }
        synchronized (treeLock) {
            if (tree == null) {
                tree = reading(this::readTree);
            }
            return tree;
        }
    }

    private Tree readTree() {
        Object state = StateDecoder.decode(snapshot.tree(), this);
        StateIndex names = StateIndex.of(state);
        checkNames(names);
        return new Tree(state, names);
    }

    /// The names in the index must be those of the tree, so that both ways to a tensor lead to the same.
    private void checkNames(StateIndex names) {
        if (names.tensors().size() != snapshot.nameCount()) {
            throw Rule.V6_NAME.broken(
                    "the state tree names " + names.tensors().size() + " tensors, the index " + snapshot.nameCount(),
                    FormatException.NO_OFFSET);
        }
        names.tensors().forEach((name, tensor) -> {
            int number = snapshot.findTensor(name);
            if (number < 0 || tensor(number) != tensor) {
                throw Rule.V6_NAME.broken(
                        "the name '" + FormatException.quote(name)
                                + "' means another tensor in the index than in the state tree",
                        FormatException.NO_OFFSET);
            }
        });
    }

    private String place(int storage) {
        if (storage == io.undercroft.format.Damage.NO_STORAGE) {
            return "the file";
        }
        return IntStream.range(0, snapshot.nameCount())
                .filter(name -> isOn(name, storage))
                .mapToObj(name -> "tensor " + snapshot.name(name))
                .findFirst()
                .orElse("storage " + storage);
    }

    /// A name that is itself damaged belongs to no storage that could be told.
    private boolean isOn(int name, int storage) {
        try {
            return snapshot.tensor(snapshot.tensorOfName(name)).storage() == storage;
        } catch (FormatException _) {
            return false;
        }
    }

    private static int checkNumber(int number, int count, String what) {
        if (number >= count) {
            throw Rule.V10_INDEX.broken("the state tree means " + what + " " + number + " of " + count,
                    FormatException.NO_OFFSET);
        }
        return number;
    }
}
