package io.undercroft.format;

import io.undercroft.format.internal.Spans;
import io.undercroft.format.internal.TreeRules;
import io.undercroft.format.internal.Utf8;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
        int[] crcs = sums.checksums();
        if (length < 1 || crcs.length != ((length - 1) >> chunkLog2) + 1) {
            throw new IllegalArgumentException(crcs.length + " checksums for an extent of " + length + " bytes");
        }
        extents.add(new ExtentRecord(ExtentKind.RAW, fileOffset, length, length, checksumCount, sums.digest()));
        checksums.add(crcs);
        checksumCount += crcs.length;
    }

    /// Adds zeros that take no room in the file to the storage that comes next.
    ///
    /// @param length how many, at least 1
    public void addZeroExtent(long length) {
        if (length < 1) {
            throw new IllegalArgumentException("an extent of " + length + " bytes");
        }
        extents.add(new ExtentRecord(ExtentKind.ZERO, 0, 0, length, 0, Digest128.ZERO));
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
        long alignment = Layout.alignment(nbytes);
        long position = 0;
        for (ExtentRecord extent : own) {
            if (position % alignment != 0 || extent.fileOffset() % alignment != 0) {
                throw new IllegalArgumentException(extent + " is not aligned to " + alignment);
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
    /// @throws IllegalStateException if extents were added after the last storage, or if the state tree is malformed or
    ///     names what is not there
    /// @throws IllegalArgumentException if it exceeds [Limits#DEFAULT], so that readers would refuse it
    public byte[] build(long sequence) {
        checkLimits();
        byte[] index = encoder().encode(sequence);
        if (index.length > Limits.DEFAULT.maxIndexBytes()) {
            throw tooMuch("an index of " + index.length + " bytes", Limits.DEFAULT.maxIndexBytes());
        }
        return index;
    }

    /// What readers refuse unless they are told to trust the file.
    private void checkLimits() {
        if (Math.max(tensors.size(), names.size()) > Limits.DEFAULT.maxTensors()) {
            throw tooMuch(tensors.size() + " tensors under " + names.size() + " names", Limits.DEFAULT.maxTensors());
        }
        long zeros = extents.stream().filter(extent -> extent.kind() == ExtentKind.ZERO)
                .mapToLong(ExtentRecord::logicalLength).reduce(0, Math::addExact);
        if (zeros > Limits.DEFAULT.maxExpansion()) {
            throw tooMuch(zeros + " bytes of zeros and of meta storages", Limits.DEFAULT.maxExpansion());
        }
    }

    private static IllegalArgumentException tooMuch(String what, long limit) {
        return new IllegalArgumentException(what + " cannot be saved: readers accept " + limit);
    }

    IndexEncoder encoder() {
        if (ownedExtents != extents.size()) {
            throw new IllegalStateException("extents were added, but not their storage");
        }
        checkTree();
        return new IndexEncoder(new IndexEncoder.Content(dtypes, strings, extents, checksums, storages, tensors,
                tensorNames, names, MemorySegment.ofArray(tree), MemorySegment.ofArray(metadataTree())));
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
