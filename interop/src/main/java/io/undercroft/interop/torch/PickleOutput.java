package io.undercroft.interop.torch;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetEncoder;
import java.nio.charset.StandardCharsets;

/// The bytes of a pickle of protocol 2, written from front to back: those opcodes that PyTorch writes, and that
/// `torch.load(weights_only=True)` accepts.
final class PickleOutput {
    private static final int PROTOCOL = 2;
    /// The longest integer whose length fits a byte.
    private static final int LONGEST_INTEGER = 255;

    /// From this one on, names with dots are looked up step by step.
    private static final int PROTOCOL_OF_NESTED_NAMES = 4;

    private final long limit;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final CharsetEncoder utf8 = StandardCharsets.UTF_8.newEncoder();

    /// A pickle that is still empty.
    ///
    /// @param limit the most bytes that it may have
    PickleOutput(long limit) {
        this.limit = limit;
        protocol(PROTOCOL);
    }

    /// {@return how many bytes it has by now}
    int size() {
        return bytes.size();
    }

    /// {@return the finished pickle}
    byte[] stop() {
        op(Opcode.STOP);
        return bytes.toByteArray();
    }

    /// Writes an opcode that has no argument.
    void op(Opcode opcode) {
        u8(opcode.code());
    }

    private void protocol(int version) {
        op(Opcode.PROTO);
        u8(version);
    }

    /// Refers to a value that was put into the memo.
    void get(int slot) {
        slot(Opcode.BINGET, Opcode.LONG_BINGET, slot);
    }

    /// Puts the uppermost value into the memo.
    void put(int slot) {
        slot(Opcode.BINPUT, Opcode.LONG_BINPUT, slot);
    }

    private void slot(Opcode narrow, Opcode wide, int slot) {
        if (slot <= 0xFF) {
            op(narrow);
            u8(slot);
        } else {
            op(wide);
            i32(slot);
        }
    }

    void truth(boolean value) {
        op(value ? Opcode.NEWTRUE : Opcode.NEWFALSE);
    }

    void integer(long value) {
        if (value >= 0 && value <= 0xFF) {
            op(Opcode.BININT1);
            u8((int) value);
        } else if (value >= 0 && value <= 0xFFFF) {
            op(Opcode.BININT2);
            raw(little(Short.BYTES).putShort((short) value).flip());
        } else if (value == (int) value) {
            op(Opcode.BININT);
            i32((int) value);
        } else {
            long1(BigInteger.valueOf(value));
        }
    }

    void integer(BigInteger value) {
        if (value.bitLength() < Long.SIZE) {
            integer(value.longValue());
        } else {
            long1(value);
        }
    }

    /// As few bytes as the number needs, the least significant one first.
    private void long1(BigInteger value) {
        byte[] digits = value.toByteArray();
        if (digits.length > LONGEST_INTEGER) {
            throw new IllegalArgumentException(
                    "an integer of " + digits.length + " bytes; PyTorch reads up to " + LONGEST_INTEGER);
        }
        op(Opcode.LONG1);
        u8(digits.length);
        for (int i = digits.length - 1; i >= 0; i--) {
            u8(digits[i]);
        }
    }

    void real(double value) {
        op(Opcode.BINFLOAT);
        raw(ByteBuffer.allocate(Double.BYTES).putDouble(value).flip());
    }

    void text(String value) {
        // There are no fewer bytes than characters: checked before they are encoded.
        requireSpace(value.length());
        ByteBuffer encoded = encoded(value);
        op(Opcode.BINUNICODE);
        i32(encoded.remaining());
        raw(encoded);
    }

    /// Names a class, a function or a constant.
    ///
    /// @param name its module, a dot and its name there, in Python 3; or as in [ForeignNames] for a class in a class
    void global(String name) {
        int nested = name.indexOf(ForeignNames.NESTED);
        int end = nested < 0 ? name.lastIndexOf('.') : nested;
        String module = name.substring(0, end);
        // Protocol 2 takes the dots of a class in a class for a part of its name, and does not find it.
        if (nested >= 0) {
            protocol(PROTOCOL_OF_NESTED_NAMES);
        }
        op(Opcode.GLOBAL);
        line(module.equals("builtins") ? "__builtin__" : module);
        line(name.substring(end + 1));
        if (nested >= 0) {
            protocol(PROTOCOL);
        }
    }

    private void line(String text) {
        raw(encoded(text));
        u8('\n');
    }

    private ByteBuffer encoded(String text) {
        if (LoneSurrogates.hasReplaced(text)) {
            return ByteBuffer.wrap(LoneSurrogates.encode(text));
        }
        try {
            return utf8.encode(CharBuffer.wrap(text));
        } catch (CharacterCodingException _) {
            throw new IllegalArgumentException("a text with half of a surrogate pair, which UTF-8 cannot hold");
        }
    }

    private void i32(int value) {
        raw(little(Integer.BYTES).putInt(value).flip());
    }

    private static ByteBuffer little(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private void u8(int value) {
        requireSpace(1);
        bytes.write(value);
    }

    private void raw(ByteBuffer from) {
        requireSpace(from.remaining());
        byte[] copy = new byte[from.remaining()];
        from.get(copy);
        bytes.writeBytes(copy);
    }

    private void requireSpace(int length) {
        if (length > limit - bytes.size()) {
            throw new IllegalArgumentException("all that is no tensor takes more than " + limit
                    + " bytes; keep large data in tensors");
        }
    }
}
