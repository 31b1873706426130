package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.StrictUtf8;
import io.undercroft.format.internal.index.Tag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.Arrays;

/// Reads a state tree token by token, in place. It never recurses, whatever the depth of the tree.
///
/// Containers are numbered from 0 in the order in which they open, [StateToken#OBJECT] included; that is what
/// [StateToken#REFERENCE] counts. The number of values that open containers announce never exceeds the number of
/// bytes that are left, so [#count] can be used for the initial size of collections. For use by one thread, as long as
/// the segment is valid.
public final class StateTreeReader {
    private final MemorySegment bytes;
    private final Limits limits;
    private final long base;

    private long position;
    private long tokenStart;
    private StateToken token = StateToken.NULL;

    private int depth;
    private StateToken[] kinds = new StateToken[16];
    private long[] pending = new long[16];
    private long promised;
    private int opened;
    private boolean finished;

    private long number;
    private int storageDType;
    private long payload;
    private long payloadLength;

    /// Creates a reader at the start of a tree.
    ///
    /// @param bytes the tree, and nothing after it
    /// @param limits the limits on depth and rank
    /// @param base the offset of the tree in its file, for messages
    public StateTreeReader(MemorySegment bytes, Limits limits, long base) {
        this.bytes = bytes;
        this.limits = limits;
        this.base = base;
    }

    /// Moves to the next token.
    ///
    /// @return its kind; [StateToken#DONE] from then on when the tree's one value was read
    /// @throws FormatException if the tree breaks a rule
    public StateToken next() {
        tokenStart = position;
        if (depth > 0 && pending[depth - 1] == 0) {
            depth--;
            token = StateToken.END;
        } else if (depth == 0 && finished) {
            if (position != bytes.byteSize()) {
                throw broken("has bytes after its value");
            }
            token = StateToken.DONE;
        } else {
            token = value();
        }
        return token;
    }

    private StateToken value() {
        boolean attributes = depth > 0 && kinds[depth - 1] == StateToken.OBJECT && pending[depth - 1] == 1;
        if (depth > 0) {
            pending[depth - 1]--;
            promised--;
        }
        finished = true;
        int tag = LittleEndian.u8(bytes, take(1));
        if (attributes && tag != Tag.MAP && tag != Tag.NULL) {
            throw broken("has attributes that are neither a map nor null");
        }
        return value(tag);
    }

    private StateToken value(int tag) {
        return switch (tag) {
            case Tag.NULL -> StateToken.NULL;
            case Tag.FALSE, Tag.TRUE -> numbered(StateToken.BOOLEAN, tag - Tag.FALSE);
            case Tag.INTEGER -> numbered(StateToken.INTEGER, stopBit());
            case Tag.NEGATIVE -> numbered(StateToken.INTEGER, ~stopBit());
            case Tag.BIG_INTEGER -> bigInteger();
            case Tag.INT8 -> numbered(StateToken.INT8, bytes.get(ValueLayout.JAVA_BYTE, take(Byte.BYTES)));
            case Tag.INT16 -> numbered(StateToken.INT16, (short) LittleEndian.u16(bytes, take(Short.BYTES)));
            case Tag.INT32 -> numbered(StateToken.INT32, LittleEndian.i32(bytes, take(Integer.BYTES)));
            case Tag.FLOAT -> sized(StateToken.FLOAT, Double.BYTES);
            case Tag.FLOAT32 -> sized(StateToken.FLOAT32, Float.BYTES);
            case Tag.COMPLEX -> sized(StateToken.COMPLEX, 2 * Double.BYTES);
            case Tag.STRING -> text(StateToken.STRING);
            case Tag.BYTES -> sized(StateToken.BYTES, stopBit());
            case Tag.LIST -> open(StateToken.LIST, stopBit(), 1);
            case Tag.TUPLE -> open(StateToken.TUPLE, stopBit(), 1);
            case Tag.MAP -> open(StateToken.MAP, stopBit(), 2);
            case Tag.SET -> open(StateToken.SET, stopBit(), 1);
            case Tag.OBJECT -> {
                text(StateToken.OBJECT);
                yield open(StateToken.OBJECT, 2, 1);
            }
            case Tag.REFERENCE -> reference();
            case Tag.TENSOR -> numbered(StateToken.TENSOR, integer());
            case Tag.STORAGE -> {
                int storage = integer();
                storageDType = integer() - 1;
                yield numbered(StateToken.STORAGE, storage);
            }
            case Tag.DTYPE -> numbered(StateToken.DTYPE, integer());
            case Tag.DEVICE -> text(StateToken.DEVICE);
            case Tag.SHAPE -> shapeToken();
            case Tag.SYMBOL -> text(StateToken.SYMBOL);
            default -> throw broken(String.format("has the unknown tag 0x%02X", tag));
        };
    }

    private StateToken numbered(StateToken kind, long value) {
        number = value;
        return kind;
    }

    private StateToken sized(StateToken kind, long length) {
        payload = take(length);
        payloadLength = length;
        return kind;
    }

    private StateToken text(StateToken kind) {
        sized(kind, stopBit());
        if (!StrictUtf8.isValid(bytes, payload, payloadLength)) {
            throw broken("has a text that is not UTF-8");
        }
        return kind;
    }

    /// Little-endian two's complement, as short as it can be, and too long for the shorter kinds.
    private StateToken bigInteger() {
        sized(StateToken.BIG_INTEGER, stopBit());
        if (payloadLength <= Long.BYTES || payloadLength > Integer.MAX_VALUE) {
            throw broken("has a big integer of " + payloadLength + " bytes");
        }
        int top = bytes.get(ValueLayout.JAVA_BYTE, payload + payloadLength - 1);
        int below = bytes.get(ValueLayout.JAVA_BYTE, payload + payloadLength - 2);
        if (top == below >> Byte.SIZE && (top == 0 || top == -1)) {
            throw broken("has a big integer with a needless byte");
        }
        return StateToken.BIG_INTEGER;
    }

    private StateToken shapeToken() {
        int rank = integer();
        if (rank > limits.maxRank()) {
            throw Rule.V8_LIMIT.broken("a shape has " + rank + " dimensions, the limit is " + limits.maxRank(),
                    offset());
        }
        payload = position;
        for (int dim = 0; dim < rank; dim++) {
            stopBit();
        }
        return numbered(StateToken.SHAPE, rank);
    }

    private StateToken reference() {
        int target = integer();
        if (target >= opened) {
            throw Rule.V10_INDEX.broken("the state tree refers to container " + target + " of " + opened, offset());
        }
        return numbered(StateToken.REFERENCE, target);
    }

    private StateToken open(StateToken kind, long count, int valuesEach) {
        long left = bytes.byteSize() - position;
        // Every value takes a byte at least, and those that open containers wait for count too.
        if (count > (left - promised) / valuesEach || count > Integer.MAX_VALUE) {
            throw broken("has a container of " + count + " entries with " + left + " bytes left");
        }
        if (depth == limits.maxDepth()) {
            throw Rule.V8_LIMIT.broken("the state tree is deeper than the limit of " + depth, offset());
        }
        if (depth == kinds.length) {
            kinds = Arrays.copyOf(kinds, 2 * depth);
            pending = Arrays.copyOf(pending, 2 * depth);
        }
        kinds[depth] = kind;
        pending[depth] = count * valuesEach;
        promised += count * valuesEach;
        depth++;
        opened++;
        return numbered(kind, count);
    }

    private int integer() {
        long value = stopBit();
        if (value > Integer.MAX_VALUE) {
            throw broken("has the index " + value);
        }
        return (int) value;
    }

    /// Seven bits per byte, the lowest first; the highest bit is set if another byte follows.
    private long stopBit() {
        long value = 0;
        for (int shift = 0; shift < 63; shift += 7) {
            int next = LittleEndian.u8(bytes, take(1));
            value |= (long) (next & 0x7F) << shift;
            if (next < 0x80) {
                if (next == 0 && shift > 0) {
                    throw broken("has a number that is not in its shortest form");
                }
                return value;
            }
        }
        throw broken("has a number past 2^63-1");
    }

    private long take(long length) {
        if (length > bytes.byteSize() - position) {
            throw broken("ends inside a value");
        }
        long at = position;
        position += length;
        return at;
    }

    /// {@return the size of the tree in bytes}
    public long nbytes() {
        return bytes.byteSize();
    }

    /// {@return the offset of the current token in the file, for messages}
    public long offset() {
        return base + tokenStart;
    }

    /// {@return the offset of the end of the current token in the file}
    public long end() {
        return base + position;
    }

    /// {@return the number of open containers, that of the current token included}
    public int depth() {
        return depth;
    }

    /// {@return the number of the container that opened last}
    public int container() {
        return opened - 1;
    }

    /// {@return the current BOOLEAN}
    public boolean booleanValue() {
        expect(token == StateToken.BOOLEAN);
        return number != 0;
    }

    /// {@return the current INTEGER, INT8, INT16 or INT32}
    public long longValue() {
        expect(isLong());
        return number;
    }

    /// {@return the current integer of any kind}
    public BigInteger bigIntegerValue() {
        if (isLong()) {
            return BigInteger.valueOf(number);
        }
        expect(token == StateToken.BIG_INTEGER);
        byte[] magnitude = payload().toArray(ValueLayout.JAVA_BYTE);
        for (int low = 0, high = magnitude.length - 1; low < high; low++, high--) {
            byte swapped = magnitude[low];
            magnitude[low] = magnitude[high];
            magnitude[high] = swapped;
        }
        return new BigInteger(magnitude);
    }

    /// {@return the current FLOAT, or the real part of the current COMPLEX; NaNs keep their bits}
    public double doubleValue() {
        expect(token == StateToken.FLOAT || token == StateToken.COMPLEX);
        return Double.longBitsToDouble(LittleEndian.i64(bytes, payload));
    }

    /// {@return the imaginary part of the current COMPLEX}
    public double imaginaryValue() {
        expect(token == StateToken.COMPLEX);
        return Double.longBitsToDouble(LittleEndian.i64(bytes, payload + Double.BYTES));
    }

    /// {@return the text of the current STRING, DEVICE or SYMBOL, or the type of the current OBJECT}
    public String text() {
        expect(isText());
        return StrictUtf8.decode(bytes, payload, payloadLength);
    }

    /// {@return the current BYTES, or the UTF-8 of what [#text] gives, in place; it lives as long as the tree}
    public MemorySegment bytes() {
        expect(token == StateToken.BYTES || isText());
        return payload().asReadOnly();
    }

    /// {@return the current FLOAT32; NaNs keep their bits}
    public float floatValue() {
        expect(token == StateToken.FLOAT32);
        return Float.intBitsToFloat(LittleEndian.i32(bytes, payload));
    }

    /// {@return the number of entries of the current LIST, TUPLE, SET, MAP (pairs) or OBJECT (always 2)}
    public int count() {
        expect(switch (token) {
            case LIST, TUPLE, SET, MAP, OBJECT -> true;
            default -> false;
        });
        return (int) number;
    }

    /// {@return the number of bytes that the current STRING, BYTES, BIG_INTEGER, DEVICE, SYMBOL or type of an OBJECT
    /// has in the tree, or how many sizes the current SHAPE}
    public long length() {
        expect(token == StateToken.BYTES || token == StateToken.BIG_INTEGER || token == StateToken.SHAPE || isText());
        return token == StateToken.SHAPE ? number : payloadLength;
    }

    /// {@return the number of the current TENSOR, STORAGE or DTYPE in its table, or of the container that the current
    /// REFERENCE means}
    public int index() {
        expect(switch (token) {
            case TENSOR, STORAGE, DTYPE, REFERENCE -> true;
            default -> false;
        });
        return (int) number;
    }

    /// {@return the number of the element type of the current STORAGE, or -1 if it is untyped}
    public int storageDType() {
        expect(token == StateToken.STORAGE);
        return storageDType;
    }

    /// {@return the sizes of the current SHAPE}
    public long[] shape() {
        expect(token == StateToken.SHAPE);
        long[] shape = new long[(int) number];
        long after = position;
        position = payload;
        for (int dim = 0; dim < shape.length; dim++) {
            shape[dim] = stopBit();
        }
        position = after;
        return shape;
    }

    private boolean isLong() {
        return switch (token) {
            case INTEGER, INT8, INT16, INT32 -> true;
            default -> false;
        };
    }

    private boolean isText() {
        return switch (token) {
            case STRING, DEVICE, SYMBOL, OBJECT -> true;
            default -> false;
        };
    }

    private MemorySegment payload() {
        return bytes.asSlice(payload, payloadLength);
    }

    private void expect(boolean right) {
        if (!right) {
            throw new IllegalStateException("the current token is " + token);
        }
    }

    private FormatException broken(String what) {
        return Rule.V16_TREE.broken("the state tree " + what, base + position);
    }
}
