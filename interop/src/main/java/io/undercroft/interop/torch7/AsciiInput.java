package io.undercroft.interop.torch7;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.DType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.function.Function;

/// Numbers as text. What one call of Torch7 wrote, values with a space between them, ends with a line feed; a call that
/// had nothing to write wrote nothing. Any white space before a number is skipped, as C does. Bytes and chars are as
/// they are, without spaces.
final class AsciiInput extends Input {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);
    /// Longer than any number that `printf` writes.
    private static final int LONGEST_NUMBER = 400;
    /// The number of digits of numbers that always fit 32 bits.
    private static final int FEW_DIGITS = 9;

    private final byte[] word = new byte[LONGEST_NUMBER];
    /// Whether values of the call in hand were read already.
    private boolean isInCall;
    /// Whether the last call ended with its line feed.
    private boolean isAtLine = true;
    private boolean isTidy = true;

    AsciiInput(MappedFile file, long start, ByteReader.Limits limits) {
        super(file, start, limits);
    }

    @Override
    int smallestObject() {
        return 2;
    }

    @Override
    int readInt() throws IOException {
        int value = (int) nextInteger(Integer.SIZE);
        endCall();
        return value;
    }

    @Override
    long[] readLongs(int count) throws IOException {
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = nextInteger(Long.SIZE);
        }
        if (count > 0) {
            endCall();
        }
        return values;
    }

    @Override
    double readDouble() throws IOException {
        double value = nextDouble();
        endCall();
        return value;
    }

    @Override
    byte[] readBytes(int count) throws IOException {
        checkLine(count);
        byte[] read = super.readBytes(count);
        if (count > 0) {
            endCall();
        }
        return read;
    }

    /// Bytes begin directly behind the line feed of their length. Without one, the first byte is unknown.
    private void checkLine(long count) throws IOException {
        if (count > 0 && !isAtLine) {
            throw Torch7Faults.ofLines(bytes.peek() == '\r', position());
        }
    }

    private void endCall() throws IOException {
        isInCall = false;
        int next = bytes.peek();
        isAtLine = next == '\n';
        if (isAtLine) {
            bytes.u8();
        } else {
            // An editor may have taken the last one off.
            isTidy &= next < 0;
        }
    }

    @Override
    boolean isAtEnd() throws IOException {
        for (int c = bytes.peek(); isSpace(c); c = bytes.peek()) {
            isTidy = false;
            bytes.u8();
        }
        return bytes.peek() < 0;
    }

    @Override
    boolean isTidy() {
        return isTidy;
    }

    // ---- words ----

    private String nextWord() throws IOException {
        return new String(word, 0, readWord(), ISO_8859_1);
    }

    /// {@return the length of the next word, which is in [#word] then}
    private int readWord() throws IOException {
        skipSpace();
        int length = 0;
        for (int c = bytes.peek(); c >= 0 && !isSpace(c); c = bytes.peek()) {
            if (length == LONGEST_NUMBER) {
                throw Torch7Faults.of("NUMBER", "a number of more than " + LONGEST_NUMBER + " characters", position());
            }
            word[length++] = bytes.i8();
        }
        if (length == 0) {
            throw Torch7Faults.ends(position());
        }
        return length;
    }

    private void skipSpace() throws IOException {
        boolean isExpected = isInCall;
        for (int c = bytes.peek(); isSpace(c); c = bytes.peek()) {
            isTidy &= isExpected && c == ' ';
            isExpected = false;
            bytes.u8();
        }
        isInCall = true;
    }

    /// As `isspace` of C.
    private static boolean isSpace(int c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
    }

    private long nextInteger(int bits) throws IOException {
        long start = position();
        int length = readWord();
        int natural = natural(length);
        if (natural >= 0 && natural <= -1L >>> (Long.SIZE - bits + 1)) {
            return natural;
        }
        String text = new String(word, 0, length, ISO_8859_1);
        try {
            long value = Long.parseLong(text);
            if (value << (Long.SIZE - bits) >> (Long.SIZE - bits) == value) {
                return value;
            }
        } catch (NumberFormatException _) {
            // Said below.
        }
        throw Torch7Faults.of("NUMBER", FormatException.quote(text) + " is no integer of " + bits + " bits", start);
    }

    /// {@return the number that the word is, if it is a short one of digits only, as nearly all are; else -1}
    private int natural(int length) {
        int value = 0;
        for (int i = 0; i < length; i++) {
            if (length > FEW_DIGITS || word[i] < '0' || word[i] > '9') {
                return -1;
            }
            value = 10 * value + word[i] - '0';
        }
        return value;
    }

    private double nextDouble() throws IOException {
        return nextReal(CNumbers::parseDouble);
    }

    private float nextFloat() throws IOException {
        return nextReal(CNumbers::parseFloat);
    }

    private <T> T nextReal(Function<String, T> parser) throws IOException {
        long start = position();
        String text = nextWord();
        try {
            return parser.apply(text);
        } catch (NumberFormatException _) {
            throw Torch7Faults.of("NUMBER", FormatException.quote(text) + " is no number", start);
        }
    }

    // ---- elements ----

    @Override
    Elements skipElements(DType dtype, long count) throws IOException {
        return dtype.itemsize() == 1 ? skipBytes(count) : skipNumbers(dtype, count);
    }

    private Elements skipBytes(long count) throws IOException {
        checkLine(count);
        Elements elements = new Elements(position(), count, null);
        if (count > remaining()) {
            throw tooMany(count, remaining());
        }
        bytes.skip(count);
        if (count > 0) {
            endCall();
        }
        return elements;
    }

    /// Reads the numbers to check them and to find their end, without keeping them.
    private Elements skipNumbers(DType dtype, long count) throws IOException {
        long offset = position();
        // Each takes a digit and a space, and the last one may be at the end of the file.
        long most = remaining() / 2 + 1;
        if (count > most) {
            throw tooMany(count, most);
        }
        MemorySegment last = MemorySegment.ofArray(new byte[Long.BYTES]);
        for (long i = 0; i < count; i++) {
            readElement(dtype, last, 0);
        }
        if (count > 0) {
            endCall();
        }
        return new Elements(offset, Math.multiplyExact(count, dtype.itemsize()), into -> {
            AsciiInput again = new AsciiInput(file, offset, Torch7Faults::tooShort);
            for (long at = 0; at < into.byteSize(); at += dtype.itemsize()) {
                again.readElement(dtype, into, at);
            }
        });
    }

    private FormatException tooMany(long count, long most) {
        return Torch7Faults.of("STORAGE", "a storage of " + count + " elements, of which the file has at most " + most,
                position());
    }

    private void readElement(DType dtype, MemorySegment into, long at) throws IOException {
        long bits = switch (dtype.kind()) {
            case FLOATING -> switch (dtype.itemsize()) {
                case Double.BYTES -> Double.doubleToRawLongBits(nextDouble());
                case Float.BYTES -> Float.floatToRawIntBits(nextFloat());
                default -> CNumbers.halfBits(nextFloat());
            };
            default -> nextInteger(dtype.bits());
        };
        MemorySegment element = into.asSlice(at, dtype.itemsize());
        switch (dtype.itemsize()) {
            case Long.BYTES -> element.set(LONG, 0, bits);
            case Integer.BYTES -> element.set(INT, 0, (int) bits);
            default -> element.set(SHORT, 0, (short) bits);
        }
    }
}
