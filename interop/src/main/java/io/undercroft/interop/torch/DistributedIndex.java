package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/// What the file `.metadata` of a distributed checkpoint says: a pickle of `Metadata`, of torch 2.1 and newer.
///
/// Everything is checked against each other before a shard is opened: the chunks of a tensor have each of its elements
/// once, no two entries have a byte of a file in common, and no chunk is larger than the bytes that it has in a file.
/// So a tensor is no larger than the files.
///
/// @param entries what the checkpoint holds, in the order of the index
/// @param paths where entries are in the state, by their names, if the index says so
/// @param files the names of the files
/// @param chunks the chunks in each file, in the order of their bytes
/// @param classes the classes that the index names and that attacks use
record DistributedIndex(List<Entry> entries, Map<?, ?> paths, List<String> files, List<List<Chunk>> chunks,
        List<ForeignClass> classes) {
    static final String MODULE = "torch.distributed.checkpoint.";
    private static final String METADATA = MODULE + "metadata";
    /// The number of bytes at the start of a pickle of `Metadata` in which it names the class.
    private static final int START = 128;
    private static final long LARGEST = 1L << 30;
    /// No file is larger; so no number of bytes overflows.
    private static final long MOST_BYTES = 1L << 50;
    /// The most dimensions in which a tensor is divided.
    private static final int MOST_DIVIDED = 8;

    /// A tensor or another value.
    ///
    /// @param dtype the type of the elements; null for another value
    /// @param shape the sizes of the tensor
    /// @param chunks its parts that have elements; one for another value
    record Entry(String name, @Nullable DType dtype, Shape shape, List<Chunk> chunks) {}

    /// A range of a file, with a part of a tensor or another value.
    ///
    /// @param file the number of the file
    /// @param start the first byte
    /// @param end the end, exclusive
    /// @param dtype the type of the elements; null for another value
    /// @param offset the first element in each dimension of the tensor
    /// @param size how many there are
    @SuppressWarnings("ArrayRecordComponent")
    record Chunk(int file, long start, long end, @Nullable DType dtype, long[] offset, long[] size) {
        /// {@return whether it has elements of a box}
        boolean meets(long[] from, Shape box) {
            return IntStream.range(0, from.length).allMatch(dim -> offset[dim] < from[dim] + box.size(dim)
                    && from[dim] < offset[dim] + size[dim]);
        }

        /// {@return whether all its elements are in a box}
        boolean isIn(long[] from, Shape box) {
            return IntStream.range(0, from.length).allMatch(dim -> offset[dim] >= from[dim]
                    && offset[dim] + size[dim] <= from[dim] + box.size(dim));
        }

        FormatException refused(String what) {
            return DistributedIndex.refused("DCP-SHARD",
                    "the entry from byte " + start + " to byte " + end + ' ' + what,
                    start);
        }
    }

    static FormatException refused(String code, String what, long offset) {
        return new FormatException(code, what, offset,
                "Check that all files of the directory are of one checkpoint and complete; get them again");
    }

    private static FormatException malformed(String what) {
        return refused("DCP-INDEX", what, FormatException.NO_OFFSET);
    }

    /// {@return the exception for a checkpoint whose index does not have the places of tensors}
    static FormatException isSafetensors(String what) {
        return new FormatException("DCP-UNSUPPORTED", what + ", as SerializationFormat.SAFETENSORS of FileSystemWriter"
                + " saves it: its index does not say where tensors are", FormatException.NO_OFFSET,
                "Save it without this option, or with HuggingFaceStorageWriter; a shard by itself opens as safetensors,"
                        + " with parts of tensors");
    }

    /// {@return whether a file is such an index}
    static boolean matches(MappedFile file) throws IOException {
        return new String(ByteReader.bytes(file, 0, (int) Math.min(START, file.size())), ISO_8859_1)
                .contains(METADATA) && PickleProbe.matches(file);
    }

    /// Reads an index.
    static DistributedIndex read(MappedFile file) throws IOException {
        if (file.size() > LARGEST) {
            throw malformed("the index has " + file.size() + " bytes and not up to " + LARGEST);
        }
        ReadBudget budget = ReadBudget.of(file.size());
        ForeignNames names = ForeignNames.all();
        OpenOptions plain = OpenOptions.defaults();
        ArrayStorages arrays = ArrayStorages.of(new ByteOrderStorages(file, plain, ByteOrder.LITTLE_ENDIAN), plain,
                StorageFilter.all());
        Object root = new PickleStream(file, 0, file.size(), budget).pickle(Unpickler.References.NONE, names, arrays);
        StateCheck.check(root, false, _ -> {});
        return new Reader(budget).index(object(root, "Metadata"),
                names.classes().stream().filter(ForeignClass::isDangerous).toList());
    }

    private static TypedMap object(@Nullable Object value, String name) {
        if (value instanceof TypedMap object && isOf(object, name)) {
            return object;
        }
        throw malformed("it has " + CallArguments.describe(value) + " and not an object of " + name);
    }

    private static boolean isOf(@Nullable Object value, String name) {
        return value instanceof TypedMap object && PythonObjects.is(object)
                && PythonObjects.className(object).startsWith(MODULE)
                && PythonObjects.className(object).endsWith('.' + name);
    }

    /// Reads the objects of the pickle.
    private static final class Reader {
        private final ReadBudget budget;
        private final Map<String, Integer> files = new LinkedHashMap<>();
        /// The ranges by the name of the entry and the offset of the chunk; that of other values is empty. Not by
        /// hashes, which can be forged.
        private final Map<String, NavigableMap<long[], Range>> ranges = new HashMap<>();
        private final List<Range> all = new ArrayList<>();
        /// All chunks that are in files, those without elements too.
        private final List<Chunk> inFiles = new ArrayList<>();

        private record Range(int file, long start, long end) {}

        Reader(ReadBudget budget) {
            this.budget = budget;
        }

        DistributedIndex index(TypedMap metadata, List<ForeignClass> classes) {
            readRanges(metadata.get("storage_data"));
            if (!(metadata.get("state_dict_metadata") instanceof Map<?, ?> described)) {
                throw malformed("it describes no entries");
            }
            List<Entry> entries = new ArrayList<>();
            described.forEach((name, value) -> entries.add(entry(text(name), value)));
            List<List<Chunk>> chunks = new ArrayList<>();
            files.forEach((_, _) -> chunks.add(new ArrayList<>()));
            inFiles.forEach(chunk -> chunks.get(chunk.file).add(chunk));
            chunks.forEach(each -> each.sort(Comparator.comparingLong(Chunk::start)));
            return new DistributedIndex(entries, metadata.get("planner_data") instanceof Map<?, ?> paths
                    ? paths
                    : Map.of(), List.copyOf(files.keySet()), chunks, classes);
        }

        private static String text(@Nullable Object value) {
            if (value instanceof String text) {
                return text;
            }
            throw malformed("it has " + CallArguments.describe(value) + " for a name");
        }

        private static long number(@Nullable Object value) {
            if (value instanceof Long number && number >= 0) {
                return number;
            }
            throw malformed("it has " + CallArguments.describe(value) + " for an offset or a length");
        }

        /// Reads where entries are: a dict with objects as keys.
        private void readRanges(@Nullable Object data) {
            Object pairs = data instanceof Map<?, ?> map && map.size() == 1 ? map.get(InertObject.OBJECT_KEYS) : null;
            if (!(pairs instanceof List<?> list)) {
                if (data instanceof Map<?, ?> empty && empty.isEmpty()) {
                    return;
                }
                throw new FormatException("DCP-UNSUPPORTED", "it does not say where its entries are as FileSystemWriter"
                        + " does", FormatException.NO_OFFSET,
                        "Load it with the StorageReader of the program that saved"
                                + " it, and save it with FileSystemWriter");
            }
            for (Object pair : list) {
                if (!(pair instanceof Tuple both && both.size() == 2)) {
                    throw malformed("it says where its entries are in another way than that of FileSystemWriter");
                }
                readRange(object(both.get(0), "MetadataIndex"), object(both.get(1), "_StorageInfo"));
            }
            all.sort(Comparator.comparingInt(Range::file).thenComparingLong(Range::start));
            for (int i = 1; i < all.size(); i++) {
                if (all.get(i - 1).file == all.get(i).file && all.get(i - 1).end > all.get(i).start) {
                    if (all.get(i - 1).start == all.get(i).start) {
                        throw isSafetensors("several entries start at one byte");
                    }
                    throw malformed("two entries overlap, at byte " + all.get(i).start + " of "
                            + FormatException.quote(List.copyOf(files.keySet()).get(all.get(i).file)));
                }
            }
        }

        private void readRange(TypedMap key, TypedMap info) {
            String name = text(key.get("fqn"));
            String file = text(info.get("relative_path"));
            if (!Draft.isPlainName(file)) {
                throw malformed("the shard " + FormatException.quote(file) + " is no plain name of a file");
            }
            if (info.get("transform_descriptors") instanceof List<?> transforms && !transforms.isEmpty()) {
                throw new FormatException("DCP-UNSUPPORTED", "the entry " + FormatException.quote(name)
                        + " is transformed by " + FormatException.quote(String.valueOf(transforms.getFirst())),
                        FormatException.NO_OFFSET, "Load it with PyTorch, and save it without extensions");
            }
            long start = number(info.get("offset"));
            long length = number(info.get("length"));
            if (start > MOST_BYTES || length > MOST_BYTES) {
                throw malformed(
                        "the entry " + FormatException.quote(name) + " has " + length + " bytes at byte " + start);
            }
            budget.takeMemory(4 * ReadBudget.ENTRY);
            Range range = new Range(files.computeIfAbsent(file, _ -> files.size()), start, start + length);
            long[] offset = key.get("offset") instanceof Shape shape ? shape.toArray() : new long[0];
            if (ranges.computeIfAbsent(name, _ -> new TreeMap<>(Arrays::compare)).put(offset, range) != null) {
                throw malformed("the entry " + FormatException.quote(name) + " is there twice");
            }
            all.add(range);
        }

        private Entry entry(String name, @Nullable Object description) {
            if (isOf(description, "BytesStorageMetadata")) {
                return value(name, range(name, new long[0]));
            }
            TypedMap tensor = object(description, "TensorStorageMetadata");
            if (!(object(tensor.get("properties"), "TensorProperties").attributes()
                    .get(InertObject.STATE) instanceof Tuple properties && properties.size() > 1
                    && properties.get(0) instanceof DType dtype && tensor.get("size") instanceof Shape shape
                    && tensor.get("chunks") instanceof List<?> chunks)) {
                throw malformed("the tensor " + FormatException.quote(name) + " has no dtype that is known, no shape or"
                        + " no chunks");
            }
            if (!(properties.get(1) instanceof Symbol layout && layout.name().equals("torch.strided"))) {
                throw new FormatException("DCP-UNSUPPORTED", "the tensor " + FormatException.quote(name)
                        + " is sparse", FormatException.NO_OFFSET, "Load it with PyTorch, and save it dense");
            }
            if (dtype.kind() == DType.Kind.QUANTIZED && chunks.size() == 1) {
                // Only the entry has the scales.
                return value(name, range(name, new long[shape.rank()]));
            }
            List<Chunk> parts = new ArrayList<>();
            List<Chunk> empty = new ArrayList<>();
            for (Object each : chunks) {
                budget.takeMemory(ReadBudget.CONTAINER);
                Chunk chunk = chunk(name, dtype, shape, object(each, "ChunkStorageMetadata"));
                (Shape.of(chunk.size).numel() == 0 ? empty : parts).add(chunk);
            }
            checkOnce(name, shape, parts);
            // One without elements need not be in a file, or its place is that of another one.
            NavigableSet<long[]> offsets = new TreeSet<>(Arrays::compare);
            parts.forEach(part -> offsets.add(part.offset));
            empty.removeIf(part -> part.end == 0 || !offsets.add(part.offset));
            inFiles.addAll(parts);
            inFiles.addAll(empty);
            return new Entry(name, dtype, shape, List.copyOf(parts));
        }

        private Entry value(String name, Range range) {
            Chunk value = new Chunk(range.file, range.start, range.end, null, new long[0], new long[0]);
            inFiles.add(value);
            return new Entry(name, null, Shape.SCALAR, List.of(value));
        }

        private @Nullable Range find(String name, long[] offset) {
            NavigableMap<long[], Range> known = ranges.get(name);
            return known == null ? null : known.get(offset);
        }

        private Range range(String name, long[] offset) {
            Range range = find(name, offset);
            if (range == null) {
                throw malformed("the entry " + FormatException.quote(name) + (offset.length == 0
                        ? ""
                        : ", from the element " + Arrays.toString(offset) + " on,") + " is in no file");
            }
            return range;
        }

        private Chunk chunk(String name, DType dtype, Shape shape, TypedMap chunk) {
            if (!(chunk.get("offsets") instanceof Shape from && chunk.get("sizes") instanceof Shape sizes
                    && from.rank() == shape.rank() && sizes.rank() == shape.rank()
                    && IntStream.range(0, shape.rank()).allMatch(dim -> sizes.size(dim) <= shape.size(dim)
                            && from.size(dim) <= shape.size(dim) - sizes.size(dim)))) {
                throw malformed("the tensor " + FormatException.quote(name) + " of the shape " + shape
                        + " has a chunk that is not inside it: " + chunk.get("sizes") + " at " + chunk.get("offsets"));
            }
            Range found = find(name, from.toArray());
            Range range = found == null && sizes.numel() == 0 ? new Range(0, 0, 0) : range(name, from.toArray());
            if (sizes.numel() / Byte.SIZE > range.end - range.start
                    || dtype.nbytes(sizes.numel()) > range.end - range.start) {
                throw malformed(
                        "the tensor " + FormatException.quote(name) + " of " + dtype + " has a chunk of " + sizes
                                + ", of which the entry in the file has " + (range.end - range.start) + " bytes");
            }
            if ((!dtype.isByteSized() || dtype.kind() == DType.Kind.QUANTIZED) && !sizes.equals(shape)) {
                throw new FormatException("DCP-UNSUPPORTED", "the tensor " + FormatException.quote(name)
                        + " has several chunks, and is quantized or has elements of less than a byte",
                        FormatException.NO_OFFSET,
                        "Save it in one chunk");
            }
            return new Chunk(range.file, range.start, range.end, dtype, from.toArray(), sizes.toArray());
        }

        /// Checks that the chunks have each element once. The number of chunks that have an element is determined by
        /// the sums at their corners, as each adds 1 or −1 there; so it is 1 everywhere if and only if these are the
        /// sums of the whole tensor.
        private void checkOnce(String name, Shape shape, List<Chunk> chunks) {
            budget.takeSteps((long) chunks.size() * shape.rank());
            int[] divided = IntStream.range(0, shape.rank())
                    .filter(dim -> chunks.stream().anyMatch(chunk -> chunk.size[dim] != shape.size(dim))).toArray();
            if (divided.length > MOST_DIVIDED) {
                throw malformed("the tensor " + FormatException.quote(name) + " is divided in " + divided.length
                        + " dimensions, of which the limit is " + MOST_DIVIDED);
            }
            budget.takeSteps((long) chunks.size() << divided.length);
            budget.takeMemory(((long) chunks.size() * 2 * ReadBudget.ENTRY) << divided.length);
            NavigableMap<long[], Integer> sums = new TreeMap<>(Arrays::compare);
            if (shape.numel() > 0) {
                add(sums, divided, new long[shape.rank()], shape.toArray(), -1);
            }
            // In their order, most corners cancel out soon, so that the map stays small.
            chunks.stream().sorted((one, other) -> Arrays.compare(one.offset, other.offset))
                    .forEach(chunk -> add(sums, divided, chunk.offset, chunk.size, 1));
            if (!sums.isEmpty()) {
                long[] at = new long[shape.rank()];
                for (int i = 0; i < divided.length; i++) {
                    at[divided[i]] = sums.firstKey()[i];
                }
                throw malformed("the tensor " + FormatException.quote(name) + " has the element " + Arrays.toString(at)
                        + (sums.firstEntry().getValue() < 0 ? " in no chunk" : " in several chunks"));
            }
        }

        private static void add(NavigableMap<long[], Integer> sums, int[] divided, long[] offset, long[] size,
                int value) {
            for (int corner = 0; corner < 1 << divided.length; corner++) {
                long[] at = new long[divided.length];
                for (int i = 0; i < divided.length; i++) {
                    at[i] = offset[divided[i]] + ((corner >> i & 1) == 0 ? 0 : size[divided[i]]);
                }
                int signed = Integer.bitCount(corner) % 2 == 0 ? value : -value;
                sums.merge(at, signed, (sum, more) -> sum + more == 0 ? null : sum + more);
            }
        }
    }
}
