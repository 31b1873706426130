package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;

/// Writes pickles opcode by opcode, also ones that Python would never write.
final class PickleBuilder {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    PickleBuilder() {
        bytes(0x80, 2);
    }

    byte[] stop() {
        bytes('.');
        return out.toByteArray();
    }

    /// {@return a pickle with one to three bytes changed}
    static byte[] damaged(byte[] pickle, Random random) {
        byte[] damaged = pickle.clone();
        for (int n = random.nextInt(3); n >= 0; n--) {
            damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
        }
        return damaged;
    }

    PickleBuilder bytes(int... bytes) {
        for (int b : bytes) {
            out.write(b);
        }
        return this;
    }

    PickleBuilder raw(byte[] bytes) {
        out.writeBytes(bytes);
        return this;
    }

    /// Opcodes that are one printable character each.
    PickleBuilder ops(String ops) {
        out.writeBytes(ops.getBytes(UTF_8));
        return this;
    }

    PickleBuilder global(String module, String name) {
        return ops("c" + module + "\n" + name + "\n");
    }

    PickleBuilder text(String text) {
        byte[] utf8 = text.getBytes(UTF_8);
        bytes('X');
        u32(utf8.length);
        out.writeBytes(utf8);
        return this;
    }

    /// A value of bytes, as protocols from 3 on have it.
    PickleBuilder data(byte... data) {
        bytes('B');
        u32(data.length);
        out.writeBytes(data);
        return this;
    }

    PickleBuilder integer(int value) {
        bytes('J');
        return u32(value);
    }

    /// A number of up to 64 bits.
    PickleBuilder integer(long value) {
        if (value == (int) value) {
            return integer((int) value);
        }
        bytes(0x8a, Long.BYTES);
        out.writeBytes(ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array());
        return this;
    }

    PickleBuilder put(int slot) {
        bytes('r');
        return u32(slot);
    }

    PickleBuilder get(int slot) {
        bytes('j');
        return u32(slot);
    }

    /// A float storage of so many elements.
    PickleBuilder storage(String key, long numel) {
        ops("(").text("storage").global("torch", "FloatStorage").text(key).text("cpu").integer(numel);
        return ops("tQ");
    }

    /// A one-dimensional tensor of all elements of a float storage.
    PickleBuilder tensor(String key, long numel) {
        global("torch._utils", "_rebuild_tensor_v2").ops("(").storage(key, numel).integer(0);
        integer(numel).bytes(0x85).integer(1).bytes(0x85, 0x89);
        return global("collections", "OrderedDict").ops(")RtR");
    }

    private PickleBuilder u32(int value) {
        out.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(value).array());
        return this;
    }
}
