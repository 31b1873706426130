package io.undercroft.format.internal;

import io.undercroft.format.internal.index.Tag;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import net.openhft.chronicle.bytes.Bytes;

/// Writes random trees of all tokens twice: by the writer of this library, and by Chronicle Bytes from what the
/// specification says of each token. Chronicle writes in the byte order of the host.
final class TwoTreeWriters {
    private static final int DEEPEST = 5;
    private static final int ALL_TOKENS = 25;
    private static final int SCALARS = 19;

    private final SplittableRandom random;
    private final StateTreeWriter tree = new StateTreeWriter();
    private final Bytes<?> bytes = Bytes.allocateElasticOnHeap();
    private int containers;

    TwoTreeWriters(long seed) {
        this.random = new SplittableRandom(seed);
    }

    /// {@return the bytes by the writer of this library}
    byte[] tree() {
        return tree.toByteArray();
    }

    /// {@return the bytes by Chronicle}
    byte[] bytes() {
        return bytes.toByteArray();
    }

    /// Writes a value, with all that is in it.
    void write(int depth) {
        // The value of the tree is a container, so that it has tokens of all kinds.
        int kind = depth == 0
                ? SCALARS + random.nextInt(4)
                : random.nextInt(depth < DEEPEST ? ALL_TOKENS : SCALARS);
        switch (kind) {
            case 0 -> {
                tree.writeNull();
                bytes.writeByte((byte) Tag.NULL);
            }
            case 1 -> {
                boolean value = random.nextBoolean();
                tree.writeBoolean(value);
                bytes.writeByte((byte) (value ? Tag.TRUE : Tag.FALSE));
            }
            case 2 -> {
                long value = number() * (random.nextBoolean() ? 1 : -1);
                tree.writeInteger(value);
                numbered(value < 0 ? Tag.NEGATIVE : Tag.INTEGER, value < 0 ? ~value : value);
            }
            case 3 -> {
                BigInteger positive = new BigInteger(1, text(20).getBytes(StandardCharsets.UTF_8)).setBit(64);
                BigInteger value = random.nextBoolean() ? positive : positive.negate();
                tree.writeInteger(value);
                byte[] bigEndian = value.toByteArray();
                bytes.writeByte((byte) Tag.BIG_INTEGER).writeStopBit(bigEndian.length);
                for (int i = bigEndian.length - 1; i >= 0; i--) {
                    bytes.writeByte(bigEndian[i]);
                }
            }
            case 4 -> {
                byte value = (byte) random.nextInt();
                tree.writeInt8(value);
                bytes.writeByte((byte) Tag.INT8).writeByte(value);
            }
            case 5 -> {
                short value = (short) random.nextInt();
                tree.writeInt16(value);
                bytes.writeByte((byte) Tag.INT16).writeShort(value);
            }
            case 6 -> {
                int value = random.nextInt();
                tree.writeInt32(value);
                bytes.writeByte((byte) Tag.INT32).writeInt(value);
            }
            case 7 -> {
                int bits = random.nextInt();
                tree.writeFloat32(Float.intBitsToFloat(bits));
                bytes.writeByte((byte) Tag.FLOAT32).writeInt(bits);
            }
            case 8 -> {
                long bits = random.nextLong();
                tree.writeFloat(Double.longBitsToDouble(bits));
                bytes.writeByte((byte) Tag.FLOAT).writeLong(bits);
            }
            case 9 -> {
                long real = random.nextLong();
                long imaginary = random.nextLong();
                tree.writeComplex(Double.longBitsToDouble(real), Double.longBitsToDouble(imaginary));
                bytes.writeByte((byte) Tag.COMPLEX).writeLong(real).writeLong(imaginary);
            }
            case 10 -> {
                byte[] content = new byte[random.nextInt(300)];
                random.nextBytes(content);
                tree.writeBytes(MemorySegment.ofArray(content));
                bytes.writeByte((byte) Tag.BYTES).writeStopBit(content.length).write(content);
            }
            case 11 -> {
                String text = text(200);
                tree.writeString(text);
                text(Tag.STRING, text);
            }
            case 12 -> {
                String device = "cuda:" + random.nextInt(300);
                tree.writeDevice(device);
                text(Tag.DEVICE, device);
            }
            case 13 -> {
                String name = text(30);
                tree.writeSymbol(name);
                text(Tag.SYMBOL, name);
            }
            case 14 -> {
                int number = (int) number() >>> 1;
                tree.writeTensor(number);
                numbered(Tag.TENSOR, number);
            }
            case 15 -> {
                int storage = (int) number() >>> 1;
                tree.writeStorage(storage);
                numbered(Tag.STORAGE, storage).writeStopBit(0);
            }
            case 16 -> {
                int storage = (int) number() >>> 1;
                int dtype = (int) number() >>> 1;
                tree.writeTypedStorage(storage, dtype);
                numbered(Tag.STORAGE, storage).writeStopBit(dtype + 1L);
            }
            case 17 -> {
                int dtype = (int) number() >>> 1;
                tree.writeDType(dtype);
                numbered(Tag.DTYPE, dtype);
            }
            case 18 -> {
                long[] sizes = LongStream.generate(this::number).limit(random.nextInt(6)).toArray();
                tree.writeShape(sizes);
                numbered(Tag.SHAPE, sizes.length);
                for (long size : sizes) {
                    bytes.writeStopBit(size);
                }
            }
            case 23 -> {
                String type = text(20);
                tree.openObject(type);
                text(Tag.OBJECT, type);
                fill(depth, 2);
            }
            case 24 -> {
                int container = random.nextInt(containers);
                tree.writeReference(container);
                numbered(Tag.REFERENCE, container);
            }
            default -> writeContainer(kind, depth);
        }
    }

    private void writeContainer(int kind, int depth) {
        int count = random.nextInt(depth == 0 ? 40 : 6);
        switch (kind) {
            case SCALARS -> tree.openList(count);
            case 20 -> tree.openTuple(count);
            case 21 -> tree.openMap(count);
            default -> tree.openSet(count);
        }
        int tag = Tag.LIST + kind - SCALARS;
        numbered(tag, count);
        fill(depth, tag == Tag.MAP ? 2 * count : count);
    }

    private void fill(int depth, int values) {
        containers++;
        for (int i = 0; i < values; i++) {
            write(depth + 1);
        }
    }

    /// Returns a number of any magnitude.
    private long number() {
        return random.nextLong() >>> (1 + random.nextInt(63));
    }

    /// Returns text with characters of one to four bytes.
    private String text(int longest) {
        int[] codePoints = random.ints(1 + random.nextInt(longest), 0, 4)
                .map(length -> switch (length) {
                    case 0 -> 'a' + random.nextInt(26);
                    case 1 -> 0xE0 + random.nextInt(32);
                    case 2 -> 0x4E00 + random.nextInt(1000);
                    default -> 0x1F600 + random.nextInt(60);
                }).toArray();
        return new String(codePoints, 0, codePoints.length);
    }

    private Bytes<?> numbered(int tag, long number) {
        bytes.writeByte((byte) tag).writeStopBit(number);
        return bytes;
    }

    private void text(int tag, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        numbered(tag, utf8.length).write(utf8);
    }
}
