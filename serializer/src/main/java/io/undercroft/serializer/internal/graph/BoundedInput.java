package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.io.Input;
import org.jspecify.annotations.Nullable;

/// The bytes of one object, for Kryo to read.
///
/// Kryo allocates what a length asks for before it looks for the bytes: six of them can ask for eight gigabytes. Here a
/// length is compared with the bytes that are left first.
final class BoundedInput extends Input {
    BoundedInput(byte[] bytes) {
        super(bytes);
    }

    /// {@return how many bytes have not been read}
    int left() {
        return limit() - position();
    }

    @Override
    public byte[] readBytes(int length) {
        return super.readBytes(checked(length, Byte.BYTES));
    }

    @Override
    public boolean[] readBooleans(int length) {
        return super.readBooleans(checked(length, Byte.BYTES));
    }

    @Override
    public short[] readShorts(int length) {
        return super.readShorts(checked(length, Short.BYTES));
    }

    @Override
    public char[] readChars(int length) {
        return super.readChars(checked(length, Character.BYTES));
    }

    @Override
    public int[] readInts(int length) {
        return super.readInts(checked(length, Integer.BYTES));
    }

    @Override
    public int[] readInts(int length, boolean optimizePositive) {
        return super.readInts(checked(length, Byte.BYTES), optimizePositive);
    }

    @Override
    public long[] readLongs(int length) {
        return super.readLongs(checked(length, Long.BYTES));
    }

    @Override
    public long[] readLongs(int length, boolean optimizePositive) {
        return super.readLongs(checked(length, Byte.BYTES), optimizePositive);
    }

    @Override
    public float[] readFloats(int length) {
        return super.readFloats(checked(length, Float.BYTES));
    }

    @Override
    public double[] readDoubles(int length) {
        return super.readDoubles(checked(length, Double.BYTES));
    }

    @Override
    public @Nullable String readString() {
        checkText();
        return super.readString();
    }

    @Override
    public @Nullable StringBuilder readStringBuilder() {
        checkText();
        return super.readStringBuilder();
    }

    /// Only texts that are not ASCII say their length, plus one: 0 stands for null.
    private void checkText() {
        int start = position();
        if (readVarIntFlag()) {
            int length = readVarIntFlag(true);
            checked(length == 0 ? 0 : length - 1, Byte.BYTES);
        }
        setPosition(start);
    }

    /// @param width the fewest bytes that an element takes
    private int checked(int length, int width) {
        if (length < 0 || (long) length * width > left()) {
            throw new KryoException("a length of " + length + " where " + left() + " bytes are left");
        }
        return length;
    }
}
