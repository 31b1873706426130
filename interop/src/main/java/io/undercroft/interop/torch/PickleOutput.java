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
/// `torch.load(weights_only=True)` knows.
final class PickleOutput {
    private static final int PROTOCOL = 2;
    /// What one byte can say of the length of an integer.
    private static final int LONGEST_INTEGER = 255;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final CharsetEncoder utf8 = StandardCharsets.UTF_8.newEncoder();

    /// A pickle that is still empty.
    PickleOutput() {
        op(Opcode.PROTO);
        bytes.write(PROTOCOL);
    }

    /// {@return the finished pickle}
    byte[] stop() {
        op(Opcode.STOP);
        return bytes.toByteArray();
    }

    /// Writes an opcode that has no argument.
    void op(Opcode opcode) {
        bytes.write(opcode.code());
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
            bytes.write(slot);
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
            bytes.write((int) value);
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
        bytes.write(digits.length);
        for (int i = digits.length - 1; i >= 0; i--) {
            bytes.write(digits[i]);
        }
    }

    void real(double value) {
        op(Opcode.BINFLOAT);
        raw(ByteBuffer.allocate(Double.BYTES).putDouble(value).flip());
    }

    void text(String value) {
        ByteBuffer encoded = encoded(value);
        op(Opcode.BINUNICODE);
        i32(encoded.remaining());
        requireRoom(encoded.remaining());
        raw(encoded);
    }

    /// Names a class, a function or a constant.
    ///
    /// @param name its module, a dot and its name there, in Python 3
    void global(String name) {
        int dot = name.lastIndexOf('.');
        String module = name.substring(0, dot);
        op(Opcode.GLOBAL);
        line(module.equals("builtins") ? "__builtin__" : module);
        line(name.substring(dot + 1));
    }

    private void line(String text) {
        raw(encoded(text));
        bytes.write('\n');
    }

    private ByteBuffer encoded(String text) {
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

    private void raw(ByteBuffer from) {
        byte[] copy = new byte[from.remaining()];
        from.get(copy);
        bytes.writeBytes(copy);
    }

    private void requireRoom(int length) {
        if (length > TorchZipFormat.LARGEST_PICKLE - bytes.size()) {
            throw new IllegalArgumentException("all that is no tensor takes more than " + TorchZipFormat.LARGEST_PICKLE
                    + " bytes; keep large data in tensors");
        }
    }
}
