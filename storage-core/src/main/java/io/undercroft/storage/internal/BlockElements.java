package io.undercroft.storage.internal;

import io.undercroft.storage.DType;
import io.undercroft.storage.internal.Block.Values;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Blocks of quantized numbers, as ggml defines them: an element is a block of 32 to 256 numbers. Runs of blocks are
/// read as floats, where positions and counts are those of numbers and are multiples of the size of a block. Single
/// numbers are not read, and nothing is quantized.
///
/// A number is a scale times the value of a code, plus an addend in some layouts. The operations are those of
/// `gguf.dequantize`, or others with the same results: bit for bit, except for the bits of a NaN. A scale is for 16
/// numbers or a multiple: that of a block, times a small integer in some layouts, which is exact.
///
/// C2 vectorises loops over the numbers of several blocks, but not loops as short as a block. So codes are extracted
/// eight at a time, from positions in a table; scales and addends are written once for eight numbers; and what follows
/// are loops over all numbers, one of which has eight numbers written out.
final class BlockElements extends Elements.Opaque {
    private static final VarHandle SHORT = view(short[].class);
    private static final VarHandle INT = view(int[].class);
    private static final VarHandle LONG = view(long[].class);
    /// Each byte as eight bytes with one bit each, the lowest first.
    private static final long[] BITS = new long[256];
    private static final long ONES = 0x0101_0101_0101_0101L;
    private static final long NIBBLES = 15 * ONES;
    private static final long EVEN = 0x00FF_00FF_00FF_00FFL;
    /// The numbers after which positions of codes repeat: the most that a block has.
    private static final int PERIOD = 256;
    /// Where the addends begin in an array with the scales.
    private static final int ADDENDS = Block.VALUES / 2;
    /// Where the scales of groups are in such an array, behind those of eight numbers that are made of them; as far
    /// behind [#ADDENDS] are the addends of groups.
    private static final int GROUPS = Block.VALUES / 4;
    private static final byte[] NONLINEAR = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    /// Twice the values of the 4-bit floats of OCP; half of the scale makes up for it.
    private static final byte[] DOUBLED_FLOAT4 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    private static final Map<String, BlockElements> BY_NAME = new HashMap<>();

    static {
        for (int bits = 0; bits < BITS.length; bits++) {
            BITS[bits] = Long.expand(bits, ONES);
        }
        for (Layout layout : Layout.values()) {
            BlockElements elements = new BlockElements(layout);
            BY_NAME.put(elements.dtype().name(), elements);
        }
    }

    private final Layout layout;

    private BlockElements(Layout layout) {
        super(DType.opaque(BLOCKS + layout, layout.nbytes * Byte.SIZE));
        this.layout = layout;
    }

    private static VarHandle view(Class<?> array) {
        return MethodHandles.byteArrayViewVarHandle(array, ByteOrder.LITTLE_ENDIAN);
    }

    /// {@return the encoding of a dtype, which is opaque unless such blocks are known}
    ///
    /// @param dtype a dtype
    static Opaque blocks(DType dtype) {
        BlockElements blocks = BY_NAME.get(dtype.name());
        return blocks != null && blocks.dtype().equals(dtype) ? blocks : new Opaque(dtype);
    }

    /// {@return the dtype of a name, for instance `gguf:Q4_0`; null if no such blocks are known}
    ///
    /// @param name the name of a dtype
    static @Nullable DType dtype(String name) {
        BlockElements blocks = BY_NAME.get(name);
        return blocks == null ? null : blocks.dtype();
    }

    /// The layouts, named as in ggml. The sizes are those of `gguf.GGML_QUANT_SIZES`.
    ///
    /// `gguf.dequantize` does not have Q1_0, nor Q8_1 and Q8_K, which ggml uses in memory only. Their numbers are those
    /// of ggml. (ggml has since made the scale of Q8_1 a half.)
    @SuppressWarnings("ImmutableEnumChecker") // Arrays, which nothing changes: these are loops over elements.
    private enum Layout {
        // @formatter:off
        Q1_0(128, 18, 0, 128, 0.5f, new Plane(2, 1, 1)),
        Q4_0(32, 18, 0, 32, 8, new Plane(2, 16, 4)),
        Q4_1(32, 20, 0, 32, 0, new Plane(4, 16, 4)),
        Q5_0(32, 22, 0, 32, 16, new Plane(6, 16, 4), new Plane(2, 1, 1)),
        Q5_1(32, 24, 0, 32, 0, new Plane(8, 16, 4), new Plane(4, 1, 1)),
        Q8_0(32, 34, 0, 32, 0, new Plane(2, 32, 8)),
        Q8_1(32, 40, 0, 32, 0, new Plane(8, 32, 8)),
        Q2_K(256, 84, 80, 16, 0, new Plane(16, 32, 2)),
        Q3_K(256, 110, 108, 16, 4, new Plane(32, 32, 2), new Plane(0, 32, 1)),
        Q4_K(256, 144, 0, 32, 0, new Plane(16, 32, 4)),
        Q5_K(256, 176, 0, 32, 0, new Plane(48, 32, 4), new Plane(16, 32, 1)),
        Q6_K(256, 210, 208, 16, 32, new Plane(0, 64, 4), new Plane(128, 32, 2)),
        Q8_K(256, 292, 0, 256, 0, new Plane(4, 256, 8)),
        IQ1_S(256, 50, 0, 32, 9),
        IQ1_M(256, 56, 0, 16, 9),
        IQ2_XXS(256, 66, 0, 32, 0),
        IQ2_XS(256, 74, 0, 16, 0),
        IQ2_S(256, 82, 0, 16, 0),
        IQ3_XXS(256, 98, 0, 32, 0),
        IQ3_S(256, 110, 0, 32, 0),
        IQ4_NL(32, 18, 0, 32, NONLINEAR, new Plane(2, 16, 4)),
        IQ4_XS(256, 136, 0, 32, NONLINEAR, new Plane(8, 16, 4)),
        TQ1_0(256, 54, 52, 256, 1),
        TQ2_0(256, 66, 64, 256, 1, new Plane(0, 32, 2)),
        MXFP4(32, 17, 0, 32, DOUBLED_FLOAT4, new Plane(1, 16, 4)),
        NVFP4(64, 36, 0, 16, DOUBLED_FLOAT4, new Plane(4, 8, 4));
        // @formatter:on

        /// The numbers and the bytes of a block.
        final int size;
        final int nbytes;
        private final int scaleAt;
        /// The numbers that have the same scale.
        private final int group;
        /// What is subtracted from a code, a byte with a sign, to get its value.
        private final float offset;
        /// The values of two adjacent codes if there is no such rule: the index has the second in its upper half.
        private final char @Nullable [] pairs;
        /// The parts of the codes; none if [#eight] makes the codes.
        private final Plane[] planes;

        Layout(int size, int nbytes, int scaleAt, int group, float offset, Plane... planes) {
            this(size, nbytes, scaleAt, group, offset, null, planes);
        }

        Layout(int size, int nbytes, int scaleAt, int group, byte[] values, Plane... planes) {
            this(size, nbytes, scaleAt, group, 0, pairs(values), planes);
        }

        private static char[] pairs(byte[] values) {
            char[] pairs = new char[256];
            for (int i = 0; i < pairs.length; i++) {
                pairs[i] = (char) ((values[i & 15] & 0xFF) | (values[i >> 4] << Byte.SIZE));
            }
            return pairs;
        }

        Layout(int size, int nbytes, int scaleAt, int group, float offset, char @Nullable [] pairs,
                Plane... planes) {
            this.size = size;
            this.nbytes = nbytes;
            this.scaleAt = scaleAt;
            this.group = group;
            this.offset = offset;
            this.pairs = pairs;
            this.planes = planes;
            for (Plane plane : planes) {
                plane.place(size, nbytes);
            }
        }

        // ---- scales

        /// Returns the scale of a block.
        private float scale(byte[] bytes, int at) {
            return switch (this) {
                case IQ1_M -> {
                    // A half in the upper four bits of four shorts.
                    long words = (long) LONG.get(bytes, at + 48);
                    yield 0.125f * Float.float16ToFloat((short) Long.compress(words, 0xF000_F000_F000_F000L));
                }
                case Q1_0 -> 2 * half(bytes, at); // Of -0.5 and 0.5.
                case Q8_1, Q8_K -> Float.intBitsToFloat((int) INT.get(bytes, at));
                case MXFP4 -> {
                    int exponent = bytes[at] & 0xFF;
                    yield Float.intBitsToFloat(exponent < 2 ? 0x0020_0000 << exponent : (exponent - 1) << 23);
                }
                case NVFP4 -> 1;
                case IQ1_S, IQ2_XXS, IQ2_XS, IQ2_S -> 0.125f * half(bytes, at);
                case IQ3_XXS -> 0.25f * half(bytes, at);
                default -> half(bytes, at + scaleAt);
            };
        }

        /// Returns what the scale of a block is multiplied by for eight groups of numbers: bytes with a sign. Those of
        /// NVFP4 are four floats.
        private long scales(byte[] bytes, int at, int number) {
            return switch (this) {
                case Q2_K -> (long) LONG.get(bytes, at + number) & NIBBLES;
                case Q3_K -> {
                    long high = (long) word(bytes, at + 104, 0) >>> (number / 2);
                    yield minus32((((long) LONG.get(bytes, at + 96) >>> (number / 2)) & NIBBLES)
                            | ((high & 0x0303_0303) << 4) | (((high >>> 2) & 0x0303_0303) << 36));
                }
                case Q4_K, Q5_K -> sixes(word(bytes, at + 4, 0), word(bytes, at + 12, 0));
                case Q6_K -> (long) LONG.get(bytes, at + 192 + number);
                case IQ4_XS -> minus32(nibbles(bytes, at + 4) | (Long.expand(half(bytes, at + 2, 0), 3 * ONES) << 4));
                case NVFP4 -> word(bytes, at, 0);
                default -> 2 * scalesOfGrid(bytes, at, number) + ONES;
            };
        }

        private long scalesOfGrid(byte[] bytes, int at, int number) {
            return switch (this) {
                case IQ1_S -> Long.expand(Long.compress((long) LONG.get(bytes, at + 34), 0x7000_7000_7000_7000L)
                        | (Long.compress((long) LONG.get(bytes, at + 42), 0x7000_7000_7000_7000L) << 12), 7 * ONES);
                case IQ1_M ->
                    Long.expand(Long.compress((long) LONG.get(bytes, at + 48), 0x0FFF_0FFF_0FFF_0FFFL) >>> (3 * number),
                            7 * ONES);
                case IQ2_XXS -> upperNibbles(bytes, at + 9, 8);
                case IQ3_XXS -> upperNibbles(bytes, at + 69, 4);
                case IQ2_XS -> nibbles(bytes, at + 66 + number / 2);
                case IQ2_S -> nibbles(bytes, at + 74 + number / 2);
                case IQ3_S -> nibbles(bytes, at + 106);
                default -> throw new AssertionError(this);
            };
        }

        private boolean hasAddends() {
            return switch (this) {
                case Q4_1, Q5_1, Q2_K, Q4_K, Q5_K -> true;
                default -> false;
            };
        }

        /// Returns the addend of a block, which follows its scale.
        private float addend(byte[] bytes, int at) {
            float addend = half(bytes, at + scaleAt + Short.BYTES);
            return group == size ? addend : -addend;
        }

        /// Returns what the addend of a block is multiplied by for eight groups of numbers, bytes.
        private long addends(byte[] bytes, int at, int number) {
            return switch (this) {
                case Q2_K -> ((long) LONG.get(bytes, at + number) >>> 4) & NIBBLES;
                case Q4_K, Q5_K -> sixes(word(bytes, at + 8, 0), word(bytes, at + 12, 0) >>> 4);
                default -> ONES;
            };
        }

        /// Returns eight integers of 6 bits: those of four bytes, and four whose upper bits are above these.
        private static long sixes(int first, int low) {
            return (first & 0x3F3F_3F3F) | ((long) ((low & 0x0F0F_0F0F) | ((first >>> 2) & 0x3030_3030)) << 32);
        }

        /// Returns eight integers of 6 bits, minus 32.
        private static long minus32(long sixes) {
            return ((sixes | (ONES << 7)) - (ONES << 5)) ^ (ONES << 7);
        }

        private static long nibbles(byte[] bytes, int at) {
            return Long.expand(word(bytes, at, 0), NIBBLES);
        }

        private static long upperNibbles(byte[] bytes, int at, int step) {
            long nibbles = 0;
            for (int i = 0; i < 8; i++) {
                nibbles |= (long) bits(bytes, at + i * step, 4, 15) << (Byte.SIZE * i);
            }
            return nibbles;
        }

        private static int bits(byte[] bytes, int at, int shift, int mask) {
            return (bytes[at] >> shift) & mask;
        }

        private static int nibble(byte[] bytes, int at, int number) {
            return bits(bytes, at + (number >> 1), 4 * (number & 1), 15);
        }

        private static float half(byte[] bytes, int at) {
            return Float.float16ToFloat((short) SHORT.get(bytes, at));
        }

        private static int half(byte[] bytes, int at, int number) {
            return Short.toUnsignedInt((short) SHORT.get(bytes, at + Short.BYTES * number));
        }

        private static int word(byte[] bytes, int at, int number) {
            return (int) INT.get(bytes, at + Integer.BYTES * number);
        }

        /// Returns half of the value of 4 bits of exponent and 3 of mantissa. The sign is ignored, and NaN is 0.
        private static float halfOfUnsignedFloat8(int bits) {
            int exponent = (bits >> 3) & 15;
            int mantissa = bits & 7;
            if (bits == 0x7F) {
                return 0;
            }
            return exponent == 0 ? mantissa * 0x1p-10f : (8 + mantissa) * 0x1p-11f * (1 << exponent);
        }

        // ---- codes

        /// Returns eight adjacent codes of a layout without planes.
        private long eight(byte[] bytes, int at, int number) {
            int four = number >> 2;
            int quarter = number & 3;
            return switch (this) {
                case IQ1_S -> {
                    int high = half(bytes, at + 34, four);
                    yield Grids.IQ1[index(bytes, at + 2 + number, high >> (3 * quarter), 7)]
                            | (((high >> 15) ^ 1) * (ONES << 1));
                }
                case IQ1_M -> {
                    int high = nibble(bytes, at + 32, number);
                    yield Grids.IQ1[index(bytes, at + number, high, 7)] | (((high >> 3) ^ 1) * (ONES << 1));
                }
                case IQ2_XXS -> signed(Grids.IQ2_XXS[bits(bytes, at + 2 + 8 * four + quarter, 0, 255)],
                        signs(word(bytes, at + 6, 2 * four) >> (7 * quarter)));
                case IQ2_XS -> {
                    int code = half(bytes, at + 2, number);
                    yield signed(Grids.IQ2_XS[code & 511], signs(code >> 9));
                }
                case IQ2_S -> signed(
                        Grids.IQ2_S[index(bytes, at + 2 + number, bytes[at + 66 + four] >> (2 * quarter), 3)],
                        BITS[bits(bytes, at + 34 + number, 0, 255)]);
                case IQ3_XXS -> signed(Grids.IQ3_XXS[bits(bytes, at + 2 + 2 * number, 0, 255)]
                        | (Grids.IQ3_XXS[bits(bytes, at + 3 + 2 * number, 0, 255)] << 32),
                        signs(word(bytes, at + 66, four) >> (7 * quarter)));
                case IQ3_S -> {
                    int high = bytes[at + 66 + four] >> (2 * quarter);
                    yield signed(Grids.IQ3_S[index(bytes, at + 2 + 2 * number, high, 1)]
                            | (Grids.IQ3_S[index(bytes, at + 3 + 2 * number, high >> 1, 1)] << 32),
                            BITS[bits(bytes, at + 74 + number, 0, 255)]);
                }
                default -> throw new AssertionError(this);
            };
        }

        /// Returns an index of a grid: a byte, and some bits above it.
        private static int index(byte[] bytes, int at, int high, int mask) {
            return bits(bytes, at, 0, 255) | ((high & mask) << 8);
        }

        /// Returns eight codes other than 0, some of them negated: those where the other bytes are 1.
        private static long signed(long codes, long signs) {
            return (codes ^ (signs * 0xFF)) + signs;
        }

        /// Returns signs of which the eighth is the parity of the others.
        private static long signs(int bits) {
            int seven = bits & 0x7F;
            return BITS[seven | ((Integer.bitCount(seven) & 1) << 7)];
        }

        /// Reads the codes of a block of TQ1_0. Byte `b` has the digits of `b / 256` to base 3: five of 32 bytes and of
        /// 16, and four of 4. They are computed in lanes of 16 bits, those of even bytes and of odd ones.
        private static void readTernary(byte[] bytes, int at, byte[] codes, int first) {
            for (int i = 0; i < 52; i += Byte.SIZE) {
                int run = i < 32 ? 32 : i < 48 ? 16 : 4;
                int to = first + (i < 32 ? i : i < 48 ? 128 + i : 240);
                long eight = (long) LONG.get(bytes, at + i);
                long even = eight & EVEN;
                long odd = (eight >>> Byte.SIZE) & EVEN;
                for (int digits = run == 4 ? 4 : 5; digits > 0; digits--, to += run) {
                    even *= 3;
                    odd *= 3;
                    eight = ((even >>> Byte.SIZE) & EVEN) | (odd & ~EVEN);
                    if (run == 4) {
                        INT.set(codes, to, (int) eight);
                    } else {
                        LONG.set(codes, to, eight);
                    }
                    even &= EVEN;
                    odd &= EVEN;
                }
            }
        }
    }

    /// Bits of all codes of a block. Each byte of a run has those of one code in its lowest bits, that of the code a
    /// run later above them, and so on; a run of one byte has those of adjacent codes.
    private static final class Plane {
        private final int at;
        private final int run;
        private final int bits;
        private final long mask;
        /// Where the bits of eight adjacent codes are, for all codes of a period: the position of their bytes times 8,
        /// plus how far they are shifted.
        private final int[] places = new int[PERIOD / Byte.SIZE];
        /// The bytes of a period.
        private int nbytes;

        /// @param at the position in the block
        /// @param run the bytes of a run
        /// @param bits the bits of a code
        Plane(int at, int run, int bits) {
            this.at = at;
            this.run = run;
            this.bits = bits;
            this.mask = ONES * ((1 << bits) - 1);
        }

        /// Makes the places for blocks of a size in numbers and in bytes.
        void place(int size, int blockBytes) {
            int codes = run * Byte.SIZE / bits;
            nbytes = PERIOD / size * blockBytes;
            for (int i = 0; i < places.length; i++) {
                int first = Byte.SIZE * i;
                int number = first % size;
                int position = first / size * blockBytes + at + number / codes * run + number % run;
                places[i] = (position << 3) + number % codes / run * bits;
            }
        }

        /// Reads codes.
        ///
        /// @param bytes some blocks
        /// @param codes the codes
        /// @param count their number
        /// @param upper the plane with the upper bits of the codes, if these are not all
        void read(byte[] bytes, byte[] codes, int count, @Nullable Plane upper) {
            for (int first = 0, from = 0; first < count; first += PERIOD, from += nbytes) {
                int end = Math.min(PERIOD, count - first) / Byte.SIZE;
                if (upper == null) {
                    for (int i = 0; i < end; i++) {
                        LONG.set(codes, first + Byte.SIZE * i, eight(bytes, from, i));
                    }
                } else {
                    for (int i = 0; i < end; i++) {
                        LONG.set(codes, first + Byte.SIZE * i,
                                eight(bytes, from, i) | (upper.eight(bytes, from, i) << bits));
                    }
                }
            }
        }

        private long eight(byte[] bytes, int from, int number) {
            int place = places[number];
            int position = from + (place >> 3);
            return run == 1
                    ? BITS[bytes[position] & 0xFF]
                    : ((long) LONG.get(bytes, position) >>> (place & 7)) & mask;
        }
    }

    /// The codes of eight or four numbers for each index: the values that ggml has. Those of IQ1, to which an eighth is
    /// added or from which it is subtracted, are eight times the values of ggml, plus 8. A file has 16 bits for each.
    /// Read when they are first needed, since few files have such blocks.
    private static final class Grids {
        static final long[] IQ1;
        static final long[] IQ2_XXS;
        static final long[] IQ2_XS;
        static final long[] IQ2_S;
        static final long[] IQ3_XXS;
        static final long[] IQ3_S;

        static {
            try (InputStream in = Objects.requireNonNull(Grids.class.getResourceAsStream("ggml-grids.bin"))) {
                IQ1 = read(in, 2048, 2, 0, 8, 16);
                IQ2_XXS = read(in, 256, 2, 8, 25, 43);
                IQ2_XS = read(in, 512, 2, 8, 25, 43);
                IQ2_S = read(in, 1024, 2, 8, 25, 43);
                IQ3_XXS = read(in, 256, 4, 4, 12, 20, 28, 36, 44, 52, 62);
                IQ3_S = read(in, 512, 4, 1, 3, 5, 7, 9, 11, 13, 15);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static long[] read(InputStream in, int count, int bits, int... values) throws IOException {
            byte[] packed = in.readNBytes(Short.BYTES * count);
            long[] codes = new long[count];
            for (int i = 0; i < count; i++) {
                int indices = Layout.half(packed, 0, i);
                for (int shift = 0; shift < Short.SIZE; shift += bits) {
                    codes[i] |= (long) values[(indices >> shift) & ((1 << bits) - 1)] << (shift / bits * Byte.SIZE);
                }
            }
            return codes;
        }
    }

    @Override
    public int blockSize() {
        return layout.size;
    }

    @Override
    Values values() {
        return Values.FLOATS;
    }

    @Override
    void read(MemorySegment bytes, long position, Block block, int count) {
        int blocks = count / layout.size;
        byte[] stored = block.storedBlocks();
        MemorySegment.copy(bytes, Layouts.BYTE, position / layout.size * layout.nbytes, stored, 0,
                blocks * layout.nbytes);
        byte[] codes = block.storedBytes();
        readCodes(stored, codes, count);
        float[] factors = block.factors();
        boolean hasAddends = layout.hasAddends();
        readFactors(stored, factors, count, hasAddends);
        int shift = Integer.numberOfTrailingZeros(layout.group / 16);
        spread(factors, 0, shift, count);
        float[] floats = block.floats();
        subtract(codes, layout.offset, floats, count);
        if (hasAddends) {
            spread(factors, ADDENDS, shift, count);
            scaleAndAdd(floats, factors, count);
        } else {
            scale(floats, factors, count);
        }
    }

    private void readCodes(byte[] stored, byte[] codes, int count) {
        Plane[] planes = layout.planes;
        if (planes.length > 0) {
            planes[0].read(stored, codes, count, planes.length > 1 ? planes[1] : null);
            if (layout.pairs != null) {
                translate(codes, layout.pairs, count);
            }
            return;
        }
        for (int at = 0, first = 0; first < count; at += layout.nbytes, first += layout.size) {
            if (layout == Layout.TQ1_0) {
                Layout.readTernary(stored, at, codes, first);
            } else {
                for (int number = 0; number < layout.size / Byte.SIZE; number++) {
                    LONG.set(codes, first + Byte.SIZE * number, layout.eight(stored, at, number));
                }
            }
        }
    }

    /// Replaces codes by their values.
    private static void translate(byte[] codes, char[] pairs, int count) {
        for (int i = 0; i < count; i += Byte.SIZE) {
            long eight = (long) LONG.get(codes, i);
            eight |= eight >>> 4;
            LONG.set(codes, i, pairs[(int) eight & 0xFF] | ((long) pairs[(int) (eight >>> 16) & 0xFF] << 16)
                    | ((long) pairs[(int) (eight >>> 32) & 0xFF] << 32)
                    | ((long) pairs[(int) (eight >>> 48) & 0xFF] << 48));
        }
    }

    /// Reads the scale of each group of numbers, and its addend.
    private void readFactors(byte[] stored, float[] factors, int count, boolean hasAddends) {
        int groups = layout.size / layout.group;
        for (int at = 0, i = GROUPS; i < GROUPS + count / layout.group; at += layout.nbytes) {
            float scale = layout.scale(stored, at);
            float addend = hasAddends ? layout.addend(stored, at) : 0;
            if (groups == 1) {
                factors[i] = scale;
                factors[ADDENDS + i++] = addend;
                continue;
            }
            for (int number = 0; number < groups; number += Byte.SIZE) {
                long scales = layout.scales(stored, at, number);
                long addends = hasAddends ? layout.addends(stored, at, number) : 0;
                for (int end = i + Math.min(groups, Byte.SIZE); i < end; i++) {
                    factors[i] = layout == Layout.NVFP4
                            ? Layout.halfOfUnsignedFloat8((int) scales & 0xFF)
                            : scale * (byte) scales;
                    factors[ADDENDS + i] = addend * (byte) addends;
                    scales >>>= Byte.SIZE;
                    addends >>>= Byte.SIZE;
                }
            }
        }
    }

    /// Makes a factor for each eight numbers of those of groups.
    private static void spread(float[] factors, int first, int shift, int count) {
        for (int i = 0; i < count / 16; i++) {
            float factor = factors[first + GROUPS + (i >> shift)];
            factors[first + 2 * i] = factor;
            factors[first + 2 * i + 1] = factor;
        }
    }

    private static void subtract(byte[] codes, float offset, float[] floats, int count) {
        for (int i = 0; i < count; i++) {
            floats[i] = codes[i] - offset;
        }
    }

    private static void scale(float[] floats, float[] factors, int count) {
        for (int i = 0; i < count / Byte.SIZE; i++) {
            float scale = factors[i];
            int at = Byte.SIZE * i;
            floats[at] *= scale;
            floats[at + 1] *= scale;
            floats[at + 2] *= scale;
            floats[at + 3] *= scale;
            floats[at + 4] *= scale;
            floats[at + 5] *= scale;
            floats[at + 6] *= scale;
            floats[at + 7] *= scale;
        }
    }

    private static void scaleAndAdd(float[] floats, float[] factors, int count) {
        for (int i = 0; i < count / Byte.SIZE; i++) {
            float scale = factors[i];
            float addend = factors[ADDENDS + i];
            int at = Byte.SIZE * i;
            floats[at] = floats[at] * scale + addend;
            floats[at + 1] = floats[at + 1] * scale + addend;
            floats[at + 2] = floats[at + 2] * scale + addend;
            floats[at + 3] = floats[at + 3] * scale + addend;
            floats[at + 4] = floats[at + 4] * scale + addend;
            floats[at + 5] = floats[at + 5] * scale + addend;
            floats[at + 6] = floats[at + 6] * scale + addend;
            floats[at + 7] = floats[at + 7] * scale + addend;
        }
    }

    @Override
    UnsupportedOperationException noNumbers() {
        return new UnsupportedOperationException("elements of " + dtype() + " are blocks of " + layout.size
                + " numbers; to(DType.FLOAT32) of a tensor decodes them, and nothing encodes them; use bytes() for the "
                + "blocks");
    }
}
