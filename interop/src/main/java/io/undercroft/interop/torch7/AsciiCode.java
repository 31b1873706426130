package io.undercroft.interop.torch7;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.Collectors;

/// Numbers as text, as [AsciiInput] describes it.
final class AsciiCode extends Code {
    private static final byte[] LINE_FEED = {'\n'};
    /// The number of digits with which every double and every float is read back exactly.
    private static final int DOUBLE_DIGITS = 17;
    private static final int FLOAT_DIGITS = 9;

    @Override
    void writeInt(int value) {
        writeLongs(value);
    }

    @Override
    void writeLongs(long... values) {
        if (values.length > 0) {
            line(Arrays.stream(values).mapToObj(Long::toString).collect(Collectors.joining(" ")));
        }
    }

    @Override
    void writeDouble(double value) {
        line(CNumbers.print(value, DOUBLE_DIGITS));
    }

    @Override
    void writeBytes(byte[] bytes) {
        if (bytes.length > 0) {
            put(bytes);
            put(LINE_FEED);
        }
    }

    private void line(String text) {
        put((text + "\n").getBytes(ISO_8859_1));
    }

    @Override
    void writeElements(TypedStorage elements) {
        if (elements.size() > 0) {
            DType dtype = elements.dtype();
            boolean isText = dtype.itemsize() == 1;
            // A guess: how many characters a number has is not known before it is printed.
            put(new StoredElements(elements.untyped(), dtype, elements.size(),
                    isText ? elements.size() + 1 : elements.size() * 10, (bytes, output) -> {
                        if (isText) {
                            output.write(bytes);
                        } else {
                            writeNumbers(new TypedStorage(Storage.wrap(bytes), dtype), output);
                        }
                        output.write(MemorySegment.ofArray(LINE_FEED));
                    }));
        }
    }

    private static void writeNumbers(TypedStorage numbers, Output output) throws IOException {
        StringBuilder text = new StringBuilder();
        for (long done = 0; done < numbers.size(); done += CHUNK) {
            long end = Math.min(numbers.size(), done + CHUNK);
            for (long i = done; i < end; i++) {
                text.append(i == 0 ? "" : " ").append(print(numbers, i));
            }
            output.write(MemorySegment.ofArray(text.toString().getBytes(ISO_8859_1)));
            text.setLength(0);
        }
    }

    private static String print(TypedStorage numbers, long index) {
        if (numbers.dtype().kind() != DType.Kind.FLOATING) {
            return Long.toString(numbers.getLong(index));
        }
        boolean isDouble = numbers.dtype().equals(DType.FLOAT64);
        return CNumbers.print(numbers.getDouble(index), isDouble ? DOUBLE_DIGITS : FLOAT_DIGITS);
    }
}
