package io.undercroft.interop.gguf;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.Typed;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// What a header is made of: numbers, strings and the values of the metadata. The length of a header is not recorded.
final class GgufInput {
    /// A megabyte is more than any text in a header has, but for templates of chats.
    private static final long LONGEST_STRING = 1L << 28;
    /// How deep arrays may be in arrays. llama.cpp has none that do.
    static final int DEEPEST = 8;
    /// How many elements all arrays may have together: some hundred times as many as the largest vocabularies need.
    /// Without a limit, memory would be many times the size of a file of small elements.
    private static final long MOST_ELEMENTS = 1L << 25;

    private final ByteReader in;
    private final ReadBudget budget;
    private long elements;

    /// @param file the file
    /// @param start where to begin
    /// @param budget what reading it may cost
    GgufInput(MappedFile file, long start, ReadBudget budget) {
        this.in = new ByteReader(file, start, file.size(),
                (_, _, _) -> damaged("GGUF-HEADER", "the file ends within its header", file.size()));
        this.budget = budget;
    }

    /// {@return the numbers of the header}
    ByteReader numbers() {
        return in;
    }

    /// Reads how many of something there are.
    ///
    /// @param least the least bytes that each takes
    /// @param what what they are, for messages
    long count(int least, String what) throws IOException {
        long position = in.position();
        long count = in.i64();
        if (count < 0 || count > in.remaining() / least) {
            throw damaged("GGUF-HEADER", "there are " + Long.toUnsignedString(count) + " " + what + " in the "
                    + in.remaining() + " bytes that are left", position);
        }
        return count;
    }

    private byte[] string(long longest) throws IOException {
        long position = in.position();
        long length = count(1, "bytes of a string");
        if (length > longest) {
            throw damaged("GGUF-HEADER", "a string of " + length + " bytes is longer than " + longest, position);
        }
        return in.bytes(length);
    }

    /// Reads a string that is a name.
    String name() throws IOException {
        long position = in.position();
        return Utf8.decode(string(GgufHeader.LONGEST_KEY))
                .orElseThrow(() -> damaged("GGUF-HEADER", "a name is not UTF-8", position));
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }

    /// An array that is being read.
    private static final class Frame {
        private final ValueType type;
        private final List<@Nullable Object> list = new ArrayList<>();
        private long left;

        Frame(ValueType type, long left) {
            this.type = type;
            this.left = left;
        }

        Typed value() {
            return new Typed(type.arrayName(), list);
        }
    }

    /// Reads a value with its type before it.
    Object read() throws IOException {
        ValueType type = type();
        return type == ValueType.ARRAY ? array() : scalar(type, true);
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
        Frame root = begin();
        open.push(root);
        while (!open.isEmpty()) {
            Frame frame = open.element();
            if (frame.left == 0) {
                open.pop();
            } else {
                frame.left--;
                if (frame.type == ValueType.ARRAY) {
                    Frame inner = begin();
                    frame.list.add(inner.value());
                    open.push(inner);
                    if (open.size() > DEEPEST) {
                        throw damaged("GGUF-VALUE", "arrays nest more than " + DEEPEST + " deep", in.position());
                    }
                } else {
                    frame.list.add(scalar(frame.type, false));
                }
            }
        }
        return root.value();
    }

    private Frame begin() throws IOException {
        ValueType type = type();
        long count = count(type.least(), "elements of an array");
        elements += count;
        if (elements > MOST_ELEMENTS) {
            throw damaged("GGUF-VALUE", "all arrays together have more than " + MOST_ELEMENTS + " elements",
                    in.position());
        }
        // The list, its element type, and a place for each.
        budget.takeMemory(4 * ReadBudget.CONTAINER + count * ReadBudget.NUMBER);
        return new Frame(type, count);
    }

    /// @param isTyped whether Java's types are told apart from others of the same width; in an array its type does that
    private Object scalar(ValueType type, boolean isTyped) throws IOException {
        Object value = switch (type) {
            case UINT8 -> Byte.toUnsignedLong(in.i8());
            case UINT16 -> Short.toUnsignedLong(in.i16());
            case UINT32 -> Integer.toUnsignedLong(in.i32());
            case UINT64 -> unsigned(in.i64());
            case INT8 -> in.i8();
            case INT16 -> in.i16();
            case INT32 -> in.i32();
            case INT64 -> in.i64();
            case FLOAT32 -> Float.intBitsToFloat(in.i32());
            case FLOAT64 -> Double.longBitsToDouble(in.i64());
            case BOOL -> truth();
            case STRING -> text();
            case ARRAY -> throw new IllegalArgumentException("an array is no scalar");
        };
        return isTyped && type.isUnsigned() ? new Typed(type.scalarName(), value) : value;
    }

    private static Number unsigned(long bits) {
        return bits >= 0 ? (Number) bits : new BigInteger(Long.toUnsignedString(bits));
    }

    private boolean truth() throws IOException {
        long position = in.position();
        byte value = in.i8();
        if (value != 0 && value != 1) {
            throw damaged("GGUF-VALUE", "a truth value is " + value, position);
        }
        return value == 1;
    }

    private Object text() throws IOException {
        byte[] string = string(LONGEST_STRING);
        budget.takeText(string.length);
        Optional<String> text = Utf8.decode(string);
        return text.isPresent() ? text.get() : string;
    }
}
