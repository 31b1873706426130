package io.undercroft.format.internal;

import io.undercroft.format.internal.index.StrictUtf8;
import io.undercroft.format.internal.index.Tag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.Arrays;

/// Writes a state tree: exactly one value, whose containers announce how many values follow.
///
/// The methods that open a container return its number, which [#writeReference] takes. For use by one thread. A call
/// out of order throws [IllegalStateException] and writes nothing; a container too deep for any reader throws
/// [IllegalArgumentException].
public final class StateTreeWriter {
    /// A little less than what a JVM allows for an array.
    private static final int LONGEST = Integer.MAX_VALUE - 8;

    private byte[] bytes = new byte[64];
    private int size;
    private final int maxDepth = Limits.DEFAULT.maxDepth();

    private long[] pending = new long[16];
    private int depth;
    private int opened;
    private boolean started;

    /// Creates a writer of an empty tree, which is not valid yet.
    public StateTreeWriter() {}

    /// Writes Python's `None`.
    public void writeNull() {
        tag(Tag.NULL);
    }

    /// Writes a truth value.
    ///
    /// @param value the value
    public void writeBoolean(boolean value) {
        tag(value ? Tag.TRUE : Tag.FALSE);
    }

    /// Writes an integer.
    ///
    /// @param value any
    public void writeInteger(long value) {
        tag(value < 0 ? Tag.NEGATIVE : Tag.INTEGER);
        number(value < 0 ? ~value : value);
    }

    /// Writes an integer of any size; one that fits 64 bits is written as such.
    ///
    /// @param value any
    public void writeInteger(BigInteger value) {
        if (value.bitLength() < Long.SIZE) {
            writeInteger(value.longValueExact());
            return;
        }
        byte[] bigEndian = value.toByteArray();
        tag(Tag.BIG_INTEGER);
        number(bigEndian.length);
        for (int i = bigEndian.length - 1; i >= 0; i--) {
            u8(bigEndian[i]);
        }
    }

    /// Writes an integer as one of 8 bits, for a language with integer types of several widths.
    ///
    /// @param value any
    public void writeInt8(byte value) {
        tag(Tag.INT8);
        u8(value);
    }

    /// Writes an integer as one of 16 bits.
    ///
    /// @param value any
    public void writeInt16(short value) {
        tag(Tag.INT16);
        fixed(value, Short.BYTES);
    }

    /// Writes an integer as one of 32 bits.
    ///
    /// @param value any
    public void writeInt32(int value) {
        tag(Tag.INT32);
        fixed(value, Integer.BYTES);
    }

    /// Writes a floating-point number of 32 bits, bit by bit.
    ///
    /// @param value any
    public void writeFloat32(float value) {
        tag(Tag.FLOAT32);
        fixed(Float.floatToRawIntBits(value), Integer.BYTES);
    }

    /// Writes a floating-point number of 64 bits, bit by bit.
    ///
    /// @param value any
    public void writeFloat(double value) {
        tag(Tag.FLOAT);
        fixed(Double.doubleToRawLongBits(value), Long.BYTES);
    }

    /// Writes a complex number.
    ///
    /// @param real its real part
    /// @param imaginary its imaginary part
    public void writeComplex(double real, double imaginary) {
        tag(Tag.COMPLEX);
        fixed(Double.doubleToRawLongBits(real), Long.BYTES);
        fixed(Double.doubleToRawLongBits(imaginary), Long.BYTES);
    }

    /// Writes text.
    ///
    /// @param text any, but for unpaired surrogates
    /// @throws IllegalArgumentException if there are unpaired surrogates
    public void writeString(String text) {
        text(Tag.STRING, text);
    }

    /// Writes bytes.
    ///
    /// @param content the bytes, on or off the heap, at most 2^31-1
    /// @throws IllegalArgumentException if there are more
    public void writeBytes(MemorySegment content) {
        if (content.byteSize() > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    content.byteSize() + " bytes are too many for the state tree; save them as a tensor");
        }
        sized(Tag.BYTES, content.toArray(ValueLayout.JAVA_BYTE));
    }

    /// Opens a list; its values follow.
    ///
    /// @param count the count
    /// @return the container's number
    public int openList(int count) {
        return open(Tag.LIST, count, 1);
    }

    /// Opens a tuple; its values follow.
    ///
    /// @param count the count
    /// @return the container's number
    public int openTuple(int count) {
        return open(Tag.TUPLE, count, 1);
    }

    /// Opens a set; its values follow.
    ///
    /// @param count the count
    /// @return the container's number
    public int openSet(int count) {
        return open(Tag.SET, count, 1);
    }

    /// Opens a map; a key and a value for each entry follow. The order is kept.
    ///
    /// @param count the number of entries
    /// @return the container's number
    public int openMap(int count) {
        return open(Tag.MAP, count, 2);
    }

    /// Opens an object; its value and its attributes (a map, or null if there are none) follow.
    ///
    /// @param type the kind of object, such as `collections.OrderedDict`
    /// @return the container's number
    /// @throws IllegalArgumentException if the type has unpaired surrogates
    public int openObject(String type) {
        byte[] utf8 = StrictUtf8.encode(type);
        checkDepth();
        sized(Tag.OBJECT, utf8);
        return push(2);
    }

    /// Writes a container that was opened before, perhaps one that is still open.
    ///
    /// @param container its number
    public void writeReference(int container) {
        if (container < 0 || container >= opened) {
            throw new IllegalStateException("container " + container + " of " + opened + " was not opened");
        }
        numbered(Tag.REFERENCE, container);
    }

    /// Writes a tensor.
    ///
    /// @param tensor its number in the index
    public void writeTensor(int tensor) {
        numbered(Tag.TENSOR, tensor);
    }

    /// Writes an untyped storage.
    ///
    /// @param storage its number in the index
    public void writeStorage(int storage) {
        numbered(Tag.STORAGE, storage);
        number(0);
    }

    /// Writes a typed storage.
    ///
    /// @param storage its number in the index
    /// @param dtype the number of its element type
    public void writeTypedStorage(int storage, int dtype) {
        checkNumber(dtype);
        numbered(Tag.STORAGE, storage);
        number(dtype + 1L);
    }

    /// Writes an element type.
    ///
    /// @param dtype its number in the index
    public void writeDType(int dtype) {
        numbered(Tag.DTYPE, dtype);
    }

    /// Writes a device.
    ///
    /// @param device in PyTorch's notation, such as `cuda:0`
    public void writeDevice(String device) {
        text(Tag.DEVICE, device);
    }

    /// Writes a shape (`torch.Size`).
    ///
    /// @param sizes not negative
    public void writeShape(long... sizes) {
        if (Arrays.stream(sizes).anyMatch(size -> size < 0)) {
            throw new IllegalArgumentException("negative size in " + Arrays.toString(sizes));
        }
        numbered(Tag.SHAPE, sizes.length);
        for (long size : sizes) {
            number(size);
        }
    }

    /// Writes a named constant of another system.
    ///
    /// @param name such as `torch.per_tensor_affine`
    public void writeSymbol(String name) {
        text(Tag.SYMBOL, name);
    }

    /// {@return the number of bytes written so far}
    public long size() {
        return size;
    }

    /// {@return the bytes of the finished tree}
    ///
    /// @throws IllegalStateException if values are missing
    public byte[] toByteArray() {
        long missing = started ? Arrays.stream(pending, 0, depth).sum() : 1;
        if (missing != 0) {
            throw new IllegalStateException("the tree lacks " + missing + " values");
        }
        return Arrays.copyOf(bytes, size);
    }

    private void numbered(int tag, int number) {
        checkNumber(number);
        tag(tag);
        number(number);
    }

    private void text(int tag, String text) {
        sized(tag, StrictUtf8.encode(text));
    }

    private void sized(int tag, byte[] payload) {
        tag(tag);
        number(payload.length);
        int at = grow(payload.length);
        System.arraycopy(payload, 0, bytes, at, payload.length);
    }

    private int open(int tag, int count, int valuesEach) {
        checkDepth();
        numbered(tag, count);
        return push((long) count * valuesEach);
    }

    private int push(long values) {
        if (depth == pending.length) {
            pending = Arrays.copyOf(pending, 2 * depth);
        }
        pending[depth++] = values;
        return opened++;
    }

    /// Begins a value: ends containers that are full, and counts the value in the innermost one that is not.
    private void tag(int tag) {
        closeFull();
        if (depth == 0 && started) {
            throw new IllegalStateException("the tree has its one value already");
        }
        if (depth > 0) {
            pending[depth - 1]--;
        }
        started = true;
        u8(tag);
    }

    private void closeFull() {
        while (depth > 0 && pending[depth - 1] == 0) {
            depth--;
        }
    }

    private void checkDepth() {
        closeFull();
        if (depth == maxDepth) {
            throw new IllegalArgumentException("the state is nested deeper than " + maxDepth + " levels");
        }
    }

    private static void checkNumber(int number) {
        if (number < 0) {
            throw new IllegalArgumentException("negative number " + number);
        }
    }

    /// Writes the low 8 bits of a number.
    private void u8(int value) {
        int at = grow(Byte.BYTES);
        bytes[at] = (byte) value;
    }

    /// Writes the low bytes of a number, the lowest first.
    private void fixed(long value, int length) {
        for (int shift = 0; shift < Byte.SIZE * length; shift += Byte.SIZE) {
            u8((int) (value >>> shift));
        }
    }

    /// Writes a number, which is not negative, in stop-bit encoding: 7 bits in each byte, the lowest first, the top bit
    /// set in all but the last byte.
    private void number(long value) {
        long rest = value;
        while (rest > 0x7F) {
            u8(((int) rest & 0x7F) | 0x80);
            rest >>>= 7;
        }
        u8((int) rest);
    }

    /// Makes space at the end, and returns its start.
    private int grow(int count) {
        int at = size;
        long needed = (long) at + count;
        if (needed > LONGEST) {
            throw new IllegalArgumentException("the state tree has more than " + LONGEST
                    + " bytes; save long runs of bytes as tensors");
        }
        if (needed > bytes.length) {
            bytes = Arrays.copyOf(bytes, (int) Math.max(needed, Math.min(2L * bytes.length, LONGEST)));
        }
        size = (int) needed;
        return at;
    }
}
