package io.undercroft.interop.gguf;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.UnreadParts;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Typed;
import io.undercroft.storage.Shape;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The header of a file, checked against the file: no tensor extends past its end, or into another one.
///
/// @param order the byte order of the file
/// @param values the metadata
/// @param tensors the tensors by name
/// @param data where the bytes of tensors start
record GgufHeader(ByteOrder order, SequencedMap<String, Object> values, SequencedMap<String, TensorInfo> tensors,
        long data) {
    /// The first bytes of every file, in either byte order.
    static final byte[] MAGIC = {'G', 'G', 'U', 'F'};
    static final int NEWEST = 3;
    static final String ALIGNMENT = "general.alignment";
    private static final long DEFAULT_ALIGNMENT = 32;
    static final int LONGEST_KEY = 0xFFFF;
    static final int MOST_DIMENSIONS = 4;

    /// Counts, lengths and sizes have 4 bytes in this version.
    private static final int OLDEST = 1;
    static final long LARGEST_ALIGNMENT = 1L << 30;

    /// A tensor as the header describes it.
    ///
    /// @param name its name
    /// @param code the number of its type in the file
    /// @param type its type; null if that is not known
    /// @param shape its sizes, outermost first, in elements of its dtype, or in numbers if its type is not known
    /// @param offset where it starts, in bytes from the first byte behind the header
    /// @param nbytes its size in bytes; of an unknown type, all bytes up to the next tensor or the end of the file
    record TensorInfo(String name, int code, @Nullable TensorType type, Shape shape, long offset, long nbytes) {
        long leastBytes() {
            return type == null && shape.numel() > 0 ? 1 : nbytes;
        }

        TensorInfo upTo(long end) {
            return new TensorInfo(name, code, type, shape, offset, end - offset);
        }
    }

    /// Reads the header of a file.
    ///
    /// @param file the file
    /// @param budget what reading it may cost
    /// @return the header
    static GgufHeader read(MappedFile file, ReadBudget budget) throws IOException {
        if (!file.startsWith(MAGIC)) {
            throw GgufInput.damaged("GGUF-HEADER", "the file does not begin with GGUF", 0);
        }
        GgufInput in = new GgufInput(file, MAGIC.length, budget);
        int version = in.numbers().i32();
        ByteOrder order = order(version);
        in.layout(order, number(version) == OLDEST);
        // The lengths and numbers of a tensor and of a value.
        long tensorCount = in.count(in.sizeBytes() + 4 + 4 + 8, "tensors");
        long valueCount = in.count(in.sizeBytes() + 4 + 1, "values of metadata");
        GgufHeader header = new GgufHeader(order, new LinkedHashMap<>(), new LinkedHashMap<>(), 0);
        header.readValues(in, valueCount, budget);
        long alignment = header.alignment();
        for (long i = 0; i < tensorCount; i++) {
            budget.takeMemory(ReadBudget.TENSOR);
            header.readTensor(in, alignment);
        }
        long data = Math.ceilDiv(in.numbers().position(), alignment) * alignment;
        header.checkLayout(Math.max(0, file.size() - data));
        return new GgufHeader(order, header.values, header.tensors, data);
    }

    private static ByteOrder order(int version) {
        int number = number(version);
        if (number < OLDEST || number > NEWEST) {
            throw new FormatException("GGUF-VERSION", "the format has version " + Integer.toUnsignedString(number),
                    MAGIC.length, "Versions " + OLDEST + " to " + NEWEST + " are known; convert the model again");
        }
        return isBig(version) ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }

    private static int number(int version) {
        return isBig(version) ? Integer.reverseBytes(version) : version;
    }

    /// A version has two bytes at most, so that a file of the other byte order shows.
    private static boolean isBig(int version) {
        return (version & 0xFFFF) == 0;
    }

    private void readValues(GgufInput in, long count, ReadBudget budget) throws IOException {
        for (long i = 0; i < count; i++) {
            long position = in.numbers().position();
            budget.takeMemory(2 * ReadBudget.ENTRY);
            String key = in.name();
            budget.takeText(key.length());
            if (values.putIfAbsent(key, in.read()) != null) {
                throw GgufInput.damaged("GGUF-DUPLICATE",
                        "the metadata " + FormatException.quote(key) + " is there twice",
                        position);
            }
        }
    }

    private long alignment() {
        return alignment(values).orElseThrow(() -> GgufInput.damaged("GGUF-VALUE",
                ALIGNMENT + " is no power of two in 32 bits up to " + LARGEST_ALIGNMENT, FormatException.NO_OFFSET));
    }

    /// {@return what the offsets of tensors are multiples of, or nothing if the metadata have no such number}
    ///
    /// @param values the metadata
    static OptionalLong alignment(Map<String, ? extends @Nullable Object> values) {
        Object value = values.get(ALIGNMENT);
        if (value == null) {
            return OptionalLong.of(DEFAULT_ALIGNMENT);
        }
        return value instanceof Typed typed && typed.value() instanceof Long alignment
                && typed.type().equals(ValueType.UINT32.scalarName()) && Long.bitCount(alignment) == 1
                && alignment <= LARGEST_ALIGNMENT
                        ? OptionalLong.of(alignment)
                        : OptionalLong.empty();
    }

    private void readTensor(GgufInput in, long alignment) throws IOException {
        long position = in.numbers().position();
        String name = in.name();
        int rank = in.numbers().i32();
        if (rank < 0 || rank > MOST_DIMENSIONS) {
            throw broken(name, "has " + Integer.toUnsignedString(rank) + " dimensions and not up to " + MOST_DIMENSIONS,
                    position);
        }
        long[] sizes = new long[rank];
        for (int dim = rank - 1; dim >= 0; dim--) {
            sizes[dim] = in.size();
        }
        int code = in.numbers().i32();
        long offset = in.numbers().i64();
        if (offset < 0 || offset % alignment != 0) {
            throw broken(name, "starts at " + Long.toUnsignedString(offset) + ", no multiple of " + alignment,
                    position);
        }
        if (tensors.putIfAbsent(name, info(name, code, sizes, offset, position)) != null) {
            throw GgufInput.damaged("GGUF-DUPLICATE", "the tensor " + FormatException.quote(name) + " is there twice",
                    position);
        }
    }

    private static TensorInfo info(String name, int code, long[] sizes, long offset, long position) {
        TensorType type = TensorType.of(code);
        long block = type == null ? 1 : type.block();
        long row = sizes.length == 0 ? 1 : sizes[sizes.length - 1];
        if (row % block != 0) {
            throw broken(name, "has rows of " + row + ", no whole blocks of " + block + " numbers", position);
        }
        try {
            // The numbers of an empty tensor have larger strides than its blocks, and it can be converted to them.
            Shape.of(sizes).contiguousStride();
            if (sizes.length > 0) {
                sizes[sizes.length - 1] = row / block;
            }
            Shape shape = Shape.of(sizes);
            // The size of an unknown type follows from the offsets of all tensors.
            return new TensorInfo(name, code, type, shape, offset,
                    type == null ? 0 : type.dtype().nbytes(shape.numel()));
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw broken(name, "cannot be: " + e.getMessage(), position);
        }
    }

    /// {@return what is between the tensors and behind them, but for what aligns them}
    ///
    /// @param fileSize the size of the file
    List<UnreadPart> besides(long fileSize) {
        UnreadParts gaps = new UnreadParts("gap");
        long alignment = alignment();
        long end = data;
        for (TensorInfo tensor : inOrder()) {
            if (data + tensor.offset() > end) {
                gaps.add("before " + tensor.name(), end, data + tensor.offset() - end);
            }
            end = Math.ceilDiv(data + tensor.offset() + tensor.nbytes(), alignment) * alignment;
        }
        List<UnreadPart> parts = new ArrayList<>();
        gaps.part().map(part -> new UnreadPart(Kind.BYTES, part.what(), part.offset(), part.nbytes()))
                .ifPresent(parts::add);
        if (fileSize > end) {
            parts.add(new UnreadPart(Kind.BYTES, "what is behind the last tensor", end, fileSize - end));
        }
        return parts;
    }

    /// {@return a number of the metadata}
    ///
    /// @param key its key
    /// @param absent the number if there is none
    long number(String key, long absent) {
        Object value = values.get(key);
        return (value instanceof Typed typed ? typed.value() : value) instanceof Number number
                ? number.longValue()
                : absent;
    }

    private List<TensorInfo> inOrder() {
        return tensors.values().stream().filter(tensor -> tensor.leastBytes() > 0)
                .sorted(Comparator.comparingLong(TensorInfo::offset)).toList();
    }

    /// Checks that tensors are in the file and do not overlap, and gives those of unknown types the bytes up to the
    /// next one.
    ///
    /// @param available how many bytes the file has behind the header
    private void checkLayout(long available) {
        long end = available;
        for (TensorInfo tensor : inOrder().reversed()) {
            if (tensor.offset() > available || tensor.leastBytes() > available - tensor.offset()) {
                throw broken(tensor.name(), "reaches out of the file", FormatException.NO_OFFSET);
            }
            if (tensor.offset() + tensor.leastBytes() > end) {
                throw broken(tensor.name(), "overlaps the next one", FormatException.NO_OFFSET);
            }
            if (tensor.type() == null) {
                tensors.put(tensor.name(), tensor.upTo(end));
            }
            end = tensor.offset();
        }
    }

    private static FormatException broken(String name, String what, long position) {
        return GgufInput.damaged("GGUF-TENSOR", "tensor " + FormatException.quote(name) + " " + what, position);
    }
}
