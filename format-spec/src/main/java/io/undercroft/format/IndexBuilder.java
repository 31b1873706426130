package io.undercroft.format;

import io.undercroft.format.internal.PathHint;
import io.undercroft.format.internal.Spans;
import io.undercroft.format.internal.StorageShape;
import io.undercroft.format.internal.TreeRules;
import io.undercroft.format.internal.Utf8;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/// Collects what an index says and writes it, with canonical bytes: the same calls give the same index.
///
/// Everything is numbered from 0 in the order in which it is added. A storage is made of the extents added since the
/// storage before it. What a reader would refuse is refused here with [IllegalArgumentException], but for places
/// in the file, which are the caller's to get right. Belongs to one thread.
public final class IndexBuilder {
    private final int chunkLog2;
    private final List<DTypeRecord> dtypes = new ArrayList<>();
    private final List<String> strings = new ArrayList<>();
    private final List<ExtentRecord> extents = new ArrayList<>();
    private final List<int[]> checksums = new ArrayList<>();
    private final List<BaseRecord> bases = new ArrayList<>();
    private final List<FreeRange> freeRanges = new ArrayList<>();
    private final List<StorageRecord> storages = new ArrayList<>();
    private final List<TensorRecord> tensors = new ArrayList<>();
    private final List<byte @Nullable []> tensorNames = new ArrayList<>();
    private final SortedMap<byte[], Integer> names = new TreeMap<>(Arrays::compareUnsigned);
    private final SortedMap<byte[], String> metadata = new TreeMap<>(Arrays::compareUnsigned);
    private byte[] tree = nullTree();
    private long checksumCount;
    private int ownedExtents;

    /// An empty index.
    ///
    /// @param chunkLog2 the logarithm of the file's chunk size in bytes, from 16 to 30
    public IndexBuilder(int chunkLog2) {
        this.chunkLog2 = Header.checkChunkLog2(chunkLog2);
    }

    /// Adds an element type, unless it is there.
    ///
    /// @param dtype the element type
    /// @return its number
    public int addDType(DTypeRecord dtype) {
        utf8(dtype.name());
        if (dtype.bits() <= 0) {
            throw new IllegalArgumentException(dtype + " has no possible size");
        }
        return numberOf(dtypes, dtype);
    }

    /// Adds bytes that stand in the file to the storage that comes next.
    ///
    /// @param fileOffset where they stand, see [Layout#placeExtent]
    /// @param length how many there are, at least 1
    /// @param sums the sums over all of them
    /// @throws IllegalArgumentException if they are sums over another number of chunks
    public void addRawExtent(long fileOffset, long length, ExtentSums sums) {
        addStored(ExtentKind.RAW, ExtentRecord.THIS_FILE, fileOffset, length, sums);
    }

    /// Adds bytes that stand in another file to the storage that comes next.
    ///
    /// @param base the number of that file, from [#addBase]
    /// @param fileOffset where they stand there; in a `.croft` file as [Layout#placeExtent] says
    /// @param length how many there are, at least 1
    /// @param sums the sums over all of them
    /// @throws IllegalArgumentException if they are sums over another number of chunks
    public void addBaseExtent(int base, long fileOffset, long length, ExtentSums sums) {
        BaseRecord file = bases.get(checkNumber(base - 1, bases.size(), "base"));
        if (fileOffset < 0 || fileOffset > file.length() - length) {
            throw new IllegalArgumentException(length + " bytes from " + fileOffset + " on are not in " + file);
        }
        addStored(file.kind() == BaseKind.CROFT ? ExtentKind.RAW : ExtentKind.FOREIGN, base, fileOffset, length, sums);
    }

    private void addStored(ExtentKind kind, int base, long fileOffset, long length, ExtentSums sums) {
        int[] crcs = sums.checksums();
        if (length < 1 || crcs.length != ((length - 1) >> chunkLog2) + 1) {
            throw new IllegalArgumentException(crcs.length + " checksums for an extent of " + length + " bytes");
        }
        extents.add(new ExtentRecord(kind, false, base, fileOffset, length, length, checksumCount, sums.digest()));
        checksums.add(crcs);
        checksumCount += crcs.length;
    }

    /// Adds another file, in which bytes of this one stand.
    ///
    /// @param base which file; an extent has to name it
    /// @return its number, from 1
    /// @throws IllegalArgumentException if it is there already, or readers would refuse it
    public int addBase(BaseRecord base) {
        utf8(base.path());
        if (!PathHint.isValid(base.path()) || !base.isWellFormed() || base.depth() < 0
                || base.depth() > Limits.DEFAULT.maxBaseDepth()
                || bases.stream().anyMatch(other -> other.identity().equals(base.identity()))) {
            throw new IllegalArgumentException(base + " cannot be a base, or is one already");
        }
        if (bases.size() == Limits.DEFAULT.maxBases()) {
            throw tooMuch(bases.size() + 1 + " bases", Limits.DEFAULT.maxBases());
        }
        bases.add(base);
        return bases.size();
    }

    /// Declares a range of the file free.
    ///
    /// @param range behind all those added before, and not touching them
    /// @throws IllegalArgumentException if it is not
    public void addFreeRange(FreeRange range) {
        long end = freeRanges.isEmpty() ? -1 : freeRanges.getLast().offset() + freeRanges.getLast().length();
        if (range.length() < 1 || range.offset() <= end) {
            throw new IllegalArgumentException(range + " is empty, or not behind those before it");
        }
        freeRanges.add(range);
    }

    /// Adds zeros that take no room in the file to the storage that comes next.
    ///
    /// @param length how many, at least 1
    public void addZeroExtent(long length) {
        if (length < 1) {
            throw new IllegalArgumentException("an extent of " + length + " bytes");
        }
        extents.add(ExtentRecord.zeros(length));
    }

    /// Adds a storage made of the extents added since the storage before it.
    ///
    /// @param device where it lives, in PyTorch's notation
    /// @return its number
    /// @throws IllegalArgumentException if its extents are not aligned as its size asks
    public int addStorage(String device) {
        utf8(device);
        List<ExtentRecord> own = extents.subList(ownedExtents, extents.size());
        long nbytes = own.stream().mapToLong(ExtentRecord::logicalLength).reduce(0, Math::addExact);
        if (nbytes > Spans.MAX_NBYTES) {
            throw new IllegalArgumentException("a storage of " + nbytes + " bytes is past 2^60-1");
        }
        StorageShape shape = new StorageShape(nbytes);
        long position = 0;
        for (ExtentRecord extent : own) {
            if (!shape.accepts(extent.kind(), position, extent.fileOffset(), extent.logicalLength())) {
                throw new IllegalArgumentException(extent + " is not aligned to " + Layout.alignment(nbytes));
            }
            position += extent.logicalLength();
        }
        numberOf(strings, device);
        storages.add(new StorageRecord(nbytes, ownedExtents, own.size(), device));
        ownedExtents = extents.size();
        return storages.size() - 1;
    }

    /// Adds a tensor without a name.
    ///
    /// @param tensor a window on a storage added before
    /// @return its number
    /// @throws IllegalArgumentException if it reaches outside its storage
    public int addTensor(TensorRecord tensor) {
        int bits = dtypes.get(checkNumber(tensor.dtype(), dtypes.size(), "dtype")).bits();
        StorageRecord storage = storages.get(checkNumber(tensor.storage(), storages.size(), "storage"));
        long[] shape = tensor.shape();
        if (tensor.rank() > Limits.DEFAULT.maxRank() || !Spans.isCountable(shape, tensor.rank())
                || !Spans.fits(shape, tensor.stride(), tensor.rank(), bits, tensor.byteOffset(), tensor.bitOffset(),
                        storage.nbytes())) {
            throw new IllegalArgumentException(tensor + " does not fit into " + storage);
        }
        tensors.add(tensor);
        tensorNames.add(null);
        return tensors.size() - 1;
    }

    /// Names a tensor. A tensor may have several names; the first is the one it is shown by.
    ///
    /// @param name may be empty; at most 4096 bytes in UTF-8
    /// @param tensor the number of a tensor added before
    /// @throws IllegalArgumentException if the name is taken or cannot be written
    public void addName(String name, int tensor) {
        checkNumber(tensor, tensors.size(), "tensor");
        byte[] utf8 = utf8(name);
        if (names.putIfAbsent(utf8, tensor) != null) {
            throw new IllegalArgumentException("the name " + FormatException.quote(name) + " is taken");
        }
        if (tensorNames.get(tensor) == null) {
            tensorNames.set(tensor, utf8);
        }
    }

    /// Sets the state tree; it is NULL until then.
    ///
    /// @param tree from [StateTreeWriter#toByteArray]; what it names must be there when the index is built
    /// @throws IllegalArgumentException if it is larger than readers accept
    public void setTree(byte[] tree) {
        if (tree.length > Limits.DEFAULT.maxIndexBytes()) {
            throw tooMuch("a state tree of " + tree.length + " bytes", Limits.DEFAULT.maxIndexBytes());
        }
        this.tree = tree.clone();
    }

    /// Adds an entry to the metadata, or replaces it.
    ///
    /// @param key its key; entries are sorted by it
    /// @param value its value
    public void putMetadata(String key, String value) {
        Utf8.encode(value);
        metadata.put(Utf8.encode(key), value);
    }

    /// Writes the index.
    ///
    /// @param sequence the number of the commit that will point to it, from 1
    /// @return the index, to be written at a multiple of 4096
    /// @throws IllegalStateException if extents were added after the last storage, if no extent names a base, or if the
    ///     state tree is malformed or names what is not there
    /// @throws IllegalArgumentException if it exceeds [Limits#DEFAULT], so that readers would refuse it
    public byte[] build(long sequence) {
        checkLimits();
        return encoder().encode(sequence);
    }

    /// What readers refuse unless they are told to trust the file.
    private void checkLimits() {
        if (Math.max(tensors.size(), names.size()) > Limits.DEFAULT.maxTensors()) {
            throw tooMuch(tensors.size() + " tensors under " + names.size() + " names", Limits.DEFAULT.maxTensors());
        }
        Set<Place> places = new HashSet<>();
        long elsewhere = extents.stream()
                .filter(extent -> extent.kind() == ExtentKind.ZERO || extent.base() != ExtentRecord.THIS_FILE
                        || !places.add(Place.of(extent)))
                .mapToLong(ExtentRecord::logicalLength).reduce(0, Math::addExact);
        if (elsewhere > Limits.DEFAULT.maxExpansion()) {
            throw tooMuch(elsewhere + " bytes of zeros, of meta storages and of other places' bytes",
                    Limits.DEFAULT.maxExpansion());
        }
    }

    /// Where the bytes of an extent stand.
    private record Place(int base, long offset, long length) {
        static Place of(ExtentRecord extent) {
            return new Place(extent.base(), extent.fileOffset(), extent.storedLength());
        }
    }

    /// {@return the extents, with the flag of those that are the same bytes as others}
    private List<ExtentRecord> flagged() {
        Map<Place, Integer> uses = new HashMap<>();
        extents.forEach(extent -> uses.merge(Place.of(extent), 1, Integer::sum));
        return extents.stream()
                .map(extent -> extent.kind() != ExtentKind.ZERO && uses.getOrDefault(Place.of(extent), 0) > 1
                        ? extent.shared()
                        : extent)
                .toList();
    }

    private void checkBases() {
        for (int base = 1; base <= bases.size(); base++) {
            int number = base;
            if (extents.stream().noneMatch(extent -> extent.base() == number)) {
                throw new IllegalStateException("no extent names " + bases.get(base - 1));
            }
        }
    }

    private static IllegalArgumentException tooMuch(String what, long limit) {
        return new IllegalArgumentException(what + " cannot be saved: readers accept " + limit);
    }

    IndexEncoder encoder() {
        if (ownedExtents != extents.size()) {
            throw new IllegalStateException("extents were added, but not their storage");
        }
        checkBases();
        checkTree();
        return new IndexEncoder(new IndexEncoder.Content(dtypes, strings, flagged(), checksums, storages, tensors,
                tensorNames, names, MemorySegment.ofArray(tree), MemorySegment.ofArray(metadataTree()), bases,
                freeRanges));
    }

    private void checkTree() {
        StateTreeReader reader = new StateTreeReader(MemorySegment.ofArray(tree), Limits.DEFAULT, 0);
        try {
            TreeRules.checkState(reader, tensors.size(), storages.size(), dtypes.size());
        } catch (FormatException e) {
            throw new IllegalStateException("the state tree does not fit the index: " + e.what(), e);
        }
    }

    private byte[] metadataTree() {
        StateTreeWriter writer = new StateTreeWriter();
        writer.openMap(metadata.size());
        metadata.forEach((key, value) -> {
            writer.writeString(new String(key, StandardCharsets.UTF_8));
            writer.writeString(value);
        });
        return writer.toByteArray();
    }

    /// Such tables are short: a search costs less than a map beside them.
    private static <T> int numberOf(List<T> table, T value) {
        int number = table.indexOf(value);
        if (number < 0) {
            table.add(value);
        }
        return number < 0 ? table.size() - 1 : number;
    }

    private static byte[] nullTree() {
        StateTreeWriter writer = new StateTreeWriter();
        writer.writeNull();
        return writer.toByteArray();
    }

    private static int checkNumber(int number, int count, String what) {
        if (number < 0 || number >= count) {
            throw new IllegalArgumentException("there is no " + what + " " + number + " of " + count);
        }
        return number;
    }

    private static byte[] utf8(String text) {
        byte[] utf8 = Utf8.encode(text);
        if (utf8.length > Limits.DEFAULT.maxNameBytes()) {
            throw new IllegalArgumentException("the name " + FormatException.quote(text) + " has " + utf8.length
                    + " bytes, the limit is " + Limits.DEFAULT.maxNameBytes());
        }
        return utf8;
    }
}
