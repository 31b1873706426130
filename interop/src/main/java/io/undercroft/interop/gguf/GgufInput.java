package io.undercroft.interop.gguf;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Typed;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Reads the parts of a header: numbers, strings and the values of the metadata. The length of a header is not
/// recorded.
final class GgufInput {
    /// A megabyte is more than any text in a header has, but for templates of chats.
    private static final long LONGEST_STRING = 1L << 28;
    /// The maximum depth of nested arrays. llama.cpp writes none.
    static final int DEEPEST = 8;
    /// The maximum number of elements of all arrays together: some hundred times as many as the largest vocabularies
    /// need. Without a limit, programs that read them all would take many times the size of a file of small elements.
    private static final long MOST_ELEMENTS = 1L << 25;
    /// Larger arrays are not on the heap.
    private static final long LARGEST_ON_HEAP = 1 << 20;

    private final MappedFile file;
    private final ByteReader in;
    private final ReadBudget budget;
    private ByteOrder order = ByteOrder.LITTLE_ENDIAN;
    private boolean isShort;
    private long elements;

    /// @param file the file
    /// @param start where to begin
    /// @param budget what reading it may cost
    GgufInput(MappedFile file, long start, ReadBudget budget) {
        this.file = file;
        this.in = new ByteReader(file, start, file.size(),
                (_, _, _) -> damaged("GGUF-HEADER", "the file ends within its header", file.size()));
        this.budget = budget;
    }

    /// {@return the numbers of the header}
    ByteReader numbers() {
        return in;
    }

    /// Sets how numbers are written.
    ///
    /// @param order their byte order
    /// @param hasShortCounts whether counts, lengths and sizes have 4 bytes and not 8
    void layout(ByteOrder order, boolean hasShortCounts) {
        this.order = order;
        this.isShort = hasShortCounts;
        in.order(order);
    }

    /// {@return how many bytes a count, a length or a size has}
    int sizeBytes() {
        return isShort ? Integer.BYTES : Long.BYTES;
    }

    /// {@return the next count, length or size, which is negative if it is more than a long holds}
    long size() throws IOException {
        return isShort ? in.u32() : in.i64();
    }

    /// Reads how many of something there are.
    ///
    /// @param least the least bytes that each takes
    /// @param what what they are, for messages
    long count(int least, String what) throws IOException {
        long position = in.position();
        long count = size();
        if (count < 0 || count > in.remaining() / least) {
            throw damaged("GGUF-HEADER", "there are " + Long.toUnsignedString(count) + " " + what + " in the "
                    + in.remaining() + " bytes that are left", position);
        }
        return count;
    }

    private long length(long longest) throws IOException {
        long position = in.position();
        long length = count(1, "bytes of a string");
        if (length > longest) {
            throw damaged("GGUF-HEADER", "a string of " + length + " bytes is longer than " + longest, position);
        }
        return length;
    }

    /// Reads a string that is a name.
    String name() throws IOException {
        long position = in.position();
        return Utf8.decode(in.bytes(length(GgufHeader.LONGEST_KEY)))
                .orElseThrow(() -> damaged("GGUF-HEADER", "a name is not UTF-8", position));
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }

    /// An array of arrays that is being read.
    private static final class Frame {
        private final List<@Nullable Object> list = new ArrayList<>();
        private long left;

        Frame(long left) {
            this.left = left;
        }
    }

    /// Reads a value with its type before it.
    Object read() throws IOException {
        ValueType type = type();
        return type == ValueType.ARRAY ? array() : scalar(type);
    }

    private ValueType type() throws IOException {
        long position = in.position();
        int code = in.i32();
        ValueType type = ValueType.of(code);
        if (type == null) {
            throw damaged("GGUF-VALUE", "there is no type of metadata " + Integer.toUnsignedString(code),
                    position);
        }
        return type;
    }

    /// Reads arrays in arrays without recursion.
    private Typed array() throws IOException {
        Deque<Frame> open = new ArrayDeque<>();
        Typed root = begin(open);
        while (!open.isEmpty()) {
            Frame frame = open.element();
            if (frame.left == 0) {
                open.pop();
            } else {
                frame.left--;
                frame.list.add(begin(open));
            }
        }
        return root;
    }

    /// Reads an array, or the beginning of one of arrays, which is opened.
    private Typed begin(Deque<Frame> open) throws IOException {
        if (open.size() == DEEPEST) {
            throw damaged("GGUF-VALUE", "arrays nest more than " + DEEPEST + " deep", in.position());
        }
        ValueType type = type();
        long count = count(least(type), "elements of an array");
        elements += count;
        if (elements > MOST_ELEMENTS) {
            throw damaged("GGUF-VALUE", "all arrays together have more than " + MOST_ELEMENTS + " elements",
                    in.position());
        }
        budget.takeMemory(4 * ReadBudget.CONTAINER);
        return new Typed(type.arrayName(), switch (type) {
            case STRING -> texts((int) count);
            case ARRAY -> {
                budget.takeMemory(count * ReadBudget.SLOT);
                Frame frame = new Frame(count);
                open.push(frame);
                yield frame.list;
            }
            default -> values(type, count);
        });
    }

    /// {@return the least bytes that a value takes}
    private int least(ValueType type) {
        return switch (type) {
            case STRING -> sizeBytes();
            case ARRAY -> Integer.BYTES + sizeBytes();
            default -> type.nbytes();
        };
    }

    private List<Object> values(ValueType type, long count) throws IOException {
        long start = in.position();
        MemorySegment bytes = bytes(start, count * type.nbytes());
        in.skip(bytes.byteSize());
        return values(type, bytes, start);
    }

    private List<Object> values(ValueType type, MemorySegment bytes, long start) {
        for (long i = 0; type == ValueType.BOOL && i < bytes.byteSize(); i++) {
            byte truth = bytes.get(ValueLayout.JAVA_BYTE, i);
            if (truth != 0 && truth != 1) {
                throw damaged("GGUF-VALUE", "a truth value is " + truth, start + i);
            }
        }
        return ValueArray.of(type, bytes, order);
    }

    /// Checks where each text ends, and makes none of them.
    private List<Object> texts(int count) throws IOException {
        long start = in.position();
        budget.takeMemory((long) count * Long.BYTES);
        long[] ends = new long[count];
        for (int i = 0; i < count; i++) {
            in.skip(length(LONGEST_STRING));
            ends[i] = in.position() - start;
        }
        return ValueArray.ofTexts(bytes(start, in.position() - start), ends, sizeBytes());
    }

    /// {@return bytes of the file, which are there, in memory that the garbage collector frees}
    private MemorySegment bytes(long start, long nbytes) throws IOException {
        budget.takeMemory(nbytes);
        MemorySegment bytes = nbytes > LARGEST_ON_HEAP
                ? Arena.ofAuto().allocate(nbytes)
                : MemorySegment.ofArray(new byte[(int) nbytes]);
        file.read(start, bytes);
        return bytes.asReadOnly();
    }

    private Object scalar(ValueType type) throws IOException {
        if (type == ValueType.STRING) {
            long length = length(LONGEST_STRING);
            budget.takeText(length);
            return Utf8.textOrBytes(in.bytes(length));
        }
        long start = in.position();
        Object value = values(type, MemorySegment.ofArray(in.bytes(type.nbytes())), start).getFirst();
        return type.isUnsigned() ? new Typed(type.scalarName(), value) : value;
    }
}
