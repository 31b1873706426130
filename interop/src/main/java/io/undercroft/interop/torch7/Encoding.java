package io.undercroft.interop.torch7;

import io.undercroft.interop.internal.FormatSettings;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// The encoding of numbers, which a file does not record. In the order in which they are tried.
enum Encoding {
    /// The encoding of Torch7 on 64-bit Linux and macOS.
    LITTLE_8(ByteOrder.LITTLE_ENDIAN, Long.BYTES),
    /// The encoding of Torch7 on 32-bit machines and on Windows.
    LITTLE_4(ByteOrder.LITTLE_ENDIAN, Integer.BYTES),
    BIG_8(ByteOrder.BIG_ENDIAN, Long.BYTES),
    BIG_4(ByteOrder.BIG_ENDIAN, Integer.BYTES),
    /// Text, to which neither byte order nor widths matter.
    ASCII(ByteOrder.LITTLE_ENDIAN, Long.BYTES);

    private final ByteOrder order;
    private final int longBytes;

    Encoding(ByteOrder order, int longBytes) {
        this.order = order;
        this.longBytes = longBytes;
    }

    /// {@return the encodings that agree with the settings, the likeliest first}
    ///
    /// @throws IllegalArgumentException if a setting has a value that it cannot have
    static List<Encoding> agreeing(FormatSettings settings) {
        Optional<String> kind = settings.oneOf("torch7.encoding", "binary", "ascii");
        Optional<String> order = settings.oneOf("torch7.order", "little", "big");
        Optional<String> longs = settings.oneOf("torch7.longs", "8", "4");
        return Stream.of(values())
                .filter(each -> agrees(kind, each == ASCII ? "ascii" : "binary"))
                .filter(each -> each == ASCII || agrees(order, each.isLittle() ? "little" : "big"))
                .filter(each -> each == ASCII || agrees(longs, Integer.toString(each.longBytes)))
                .toList();
    }

    private static boolean agrees(Optional<String> told, String value) {
        return told.isEmpty() || told.get().equals(value);
    }

    /// {@return the byte order of binary numbers}
    ByteOrder order() {
        return order;
    }

    /// {@return whether binary numbers have the same bytes in the file and in storages}
    boolean isLittle() {
        return order == ByteOrder.LITTLE_ENDIAN;
    }

    /// {@return the bytes of a binary `long`, which elements of 64 bits are too}
    int longBytes() {
        return longBytes;
    }
}
