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
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Blocks of quantized numbers, as ggml defines them: an element is a block of 32 to 256 numbers. Runs of blocks are
/// read as floats, where positions and counts are those of numbers and are multiples of the size of a block. Single
/// numbers are not read, and nothing is quantized.
///
/// A number is a scale times the value of a code, plus an addend in some layouts; the operations and their order are
/// those of `gguf.dequantize`, so that results are the same bit for bit, except for the bits of a NaN. A scale is for
/// 16 numbers or a multiple. Codes have up to 8 bits; they are extracted eight at a time, since C2 does not vectorise
/// loops as short as a block. What follows are loops over the numbers of several blocks, which it does.
final class BlockElements extends Elements.Opaque {
    private static final VarHandle SHORT = view(short[].class);
    private static final VarHandle INT = view(int[].class);
    private static final VarHandle LONG = view(long[].class);
    /// Each byte as eight bytes with one bit each, the lowest first.
    private static final long[] BITS = new long[256];
    private static final long ONES = 0x0101_0101_0101_0101L;
    private static final long EVEN = 0x00FF_00FF_00FF_00FFL;
    private static final int[] POWERS_OF_THREE = {1, 3, 9, 27, 81};
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
        Q1_0(128, 18, 0, 128, of(-1, 1), new Plane(2, 1, 1)),
        Q4_0(32, 18, 0, 32, linear(8), new Plane(2, 16, 4)),
        Q4_1(32, 20, 0, 32, linear(0), new Plane(4, 16, 4)),
        Q5_0(32, 22, 0, 32, linear(16), new Plane(6, 16, 4), new Plane(2, 1, 1)),
        Q5_1(32, 24, 0, 32, linear(0), new Plane(8, 16, 4), new Plane(4, 1, 1)),
        Q8_0(32, 34, 0, 32, linear(0), new Plane(2, 32, 8)),
        Q8_1(32, 40, 0, 32, linear(0), new Plane(8, 32, 8)),
        Q2_K(256, 84, 80, 16, linear(0), new Plane(16, 32, 2)),
        Q3_K(256, 110, 108, 16, linear(4), new Plane(32, 32, 2), new Plane(0, 32, 1)),
        Q4_K(256, 144, 0, 32, linear(0), new Plane(16, 32, 4)),
        Q5_K(256, 176, 0, 32, linear(0), new Plane(48, 32, 4), new Plane(16, 32, 1)),
        Q6_K(256, 210, 208, 16, linear(32), new Plane(0, 64, 4), new Plane(128, 32, 2)),
        Q8_K(256, 292, 0, 256, linear(0), new Plane(4, 256, 8)),
        IQ1_S(256, 50, 0, 32, withDelta()),
        IQ1_M(256, 56, 0, 16, withDelta()),
        IQ2_XXS(256, 66, 0, 32, withSign(2, 8, 25, 43)),
        IQ2_XS(256, 74, 0, 16, withSign(2, 8, 25, 43)),
        IQ2_S(256, 82, 0, 16, withSign(2, 8, 25, 43)),
        IQ3_XXS(256, 98, 0, 32, withSign(4, 4, 12, 20, 28, 36, 44, 52, 62)),
        IQ3_S(256, 110, 0, 32, withSign(4, 1, 3, 5, 7, 9, 11, 13, 15)),
        IQ4_NL(32, 18, 0, 32, nonlinear(), new Plane(2, 16, 4)),
        IQ4_XS(256, 136, 0, 32, nonlinear(), new Plane(8, 16, 4)),
        TQ1_0(256, 54, 52, 256, linear(1)),
        TQ2_0(256, 66, 64, 256, linear(1), new Plane(0, 32, 2)),
        MXFP4(32, 17, 0, 32, doubledFloat4(), new Plane(1, 16, 4)),
        NVFP4(64, 36, 0, 16, doubledFloat4(), new Plane(4, 8, 4));
        // @formatter:on

        /// The numbers and the bytes of a block.
        final int size;
        final int nbytes;
        private final int scaleAt;
        /// The numbers that have the same scale.
        private final int group;
        /// The value of each code.
        private final float[] values;
        /// Whether the values are the codes with a sign, less an offset.
        private final boolean isLinear;
        private final float offset;
        /// The parts of the codes; none if [#eight] makes the codes.
        private final Plane[] planes;

        Layout(int size, int nbytes, int scaleAt, int group, float[] values, Plane... planes) {
            this.size = size;
            this.nbytes = nbytes;
            this.scaleAt = scaleAt;
            this.group = group;
            this.values = values;
            this.isLinear = Arrays.equals(values, linear((int) -values[0]));
            this.offset = isLinear ? -values[0] : 0;
            this.planes = planes;
        }

        // ---- values of codes

        private static float[] linear(int offset) {
            float[] values = new float[256];
            for (int code = 0; code < values.length; code++) {
                values[code] = (byte) code - offset;
            }
            return values;
        }

        private static float[] of(int... integers) {
            float[] values = new float[256];
            for (int code = 0; code < integers.length; code++) {
                values[code] = integers[code];
            }
            return values;
        }

        private static float[] nonlinear() {
            return of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
        }

        /// Twice the values of the 4-bit floats of OCP; half of the scale makes up for it.
        private static float[] doubledFloat4() {
            return of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
        }

        /// Codes of some bits, and one bit above them for the sign.
        private static float[] withSign(int bits, int... integers) {
            float[] values = of(integers);
            for (int code = 0; code < integers.length; code++) {
                values[code | (1 << bits)] = -values[code];
            }
            return values;
        }

        /// -1, 0 and 1, plus an eighth, or minus an eighth if the bit above is set.
        private static float[] withDelta() {
            float[] values = new float[256];
            for (int code = 0; code < 3; code++) {
                values[code] = code - 1 + 0.125f;
                values[code | 4] = code - 1 - 0.125f;
            }
            return values;
        }

        // ---- scales

        /// Returns the scale of a block.
        private float scale(byte[] bytes, int at) {
            return switch (this) {
                case IQ1_M -> {
                    // A half in the upper four bits of four shorts.
                    long words = (long) LONG.get(bytes, at + 48);
                    yield Float.float16ToFloat((short) Long.compress(words, 0xF000_F000_F000_F000L));
                }
                case Q8_1, Q8_K -> Float.intBitsToFloat((int) INT.get(bytes, at));
                case MXFP4 -> {
                    int exponent = bytes[at] & 0xFF;
                    yield Float.intBitsToFloat(exponent < 2 ? 0x0020_0000 << exponent : (exponent - 1) << 23);
                }
                default -> half(bytes, at + scaleAt);
            };
        }

        /// Returns the scale of a group of numbers. Divided, so that C2 inlines it.
        private float scale(float scale, byte[] bytes, int at, int number) {
            return switch (this) {
                case Q2_K -> scale * bits(bytes, at + number, 0, 15);
                case Q3_K -> scale * ((bits(bytes, at + 96 + (number & 7), 4 * (number >> 3), 15)
                        | (bits(bytes, at + 104 + (number & 3), 2 * (number >> 2), 3) << 4)) - 32);
                case Q4_K, Q5_K -> scale * (number < 4
                        ? bits(bytes, at + 4 + number, 0, 63)
                        : bits(bytes, at + 8 + number, 0, 15) | bits(bytes, at + number, 2, 48));
                case Q6_K -> scale * bytes[at + 192 + number];
                case IQ4_XS -> scale * ((nibble(bytes, at + 4, number)
                        | (((half(bytes, at + 2, 0) >> (2 * number)) & 3) << 4)) - 32);
                case NVFP4 -> halfOfUnsignedFloat8(bits(bytes, at + number, 0, 255));
                default -> scaleOfGrid(scale, bytes, at, number);
            };
        }

        private float scaleOfGrid(float scale, byte[] bytes, int at, int number) {
            return switch (this) {
                case IQ1_S -> scale * (2 * ((half(bytes, at + 34, number) >> 12) & 7) + 1);
                case IQ1_M -> scale * (2 * ((half(bytes, at + 48, number >> 2) >> (3 * (number & 3))) & 7) + 1);
                case IQ2_XXS -> scale * (0.5f + (word(bytes, at + 6, 2 * number) >>> 28)) * 0.25f;
                case IQ2_XS -> scale * (0.5f + nibble(bytes, at + 66, number)) * 0.25f;
                case IQ2_S -> scale * (0.5f + nibble(bytes, at + 74, number)) * 0.25f;
                case IQ3_XXS -> scale * (0.5f + (word(bytes, at + 66, number) >>> 28)) * 0.5f;
                case IQ3_S -> scale * (1 + 2 * nibble(bytes, at + 106, number));
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
            return half(bytes, at + scaleAt + Short.BYTES);
        }

        /// Returns the addend of a group of numbers.
        private float addend(float addend, byte[] bytes, int at, int number) {
            return switch (this) {
                case Q2_K -> -(addend * bits(bytes, at + number, 4, 15));
                case Q4_K, Q5_K -> -(addend * (number < 4
                        ? bits(bytes, at + 8 + number, 0, 63)
                        : bits(bytes, at + 8 + number, 4, 15) | bits(bytes, at + 4 + number, 2, 48)));
                default -> addend;
            };
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
                            | ((high >> 15) * (ONES << 2));
                }
                case IQ1_M -> {
                    int high = nibble(bytes, at + 32, number);
                    yield Grids.IQ1[index(bytes, at + number, high, 7)] | ((high >> 3) * (ONES << 2));
                }
                case IQ2_XXS -> Grids.IQ2_XXS[bits(bytes, at + 2 + 8 * four + quarter, 0, 255)]
                        | (signs(word(bytes, at + 6, 2 * four) >> (7 * quarter)) << 2);
                case IQ2_XS -> {
                    int code = half(bytes, at + 2, number);
                    yield Grids.IQ2_XS[code & 511] | (signs(code >> 9) << 2);
                }
                case IQ2_S -> Grids.IQ2_S[index(bytes, at + 2 + number, bytes[at + 66 + four] >> (2 * quarter), 3)]
                        | (BITS[bits(bytes, at + 34 + number, 0, 255)] << 2);
                case IQ3_XXS -> Grids.IQ3_XXS[bits(bytes, at + 2 + 2 * number, 0, 255)]
                        | (Grids.IQ3_XXS[bits(bytes, at + 3 + 2 * number, 0, 255)] << 32)
                        | (signs(word(bytes, at + 66, four) >> (7 * quarter)) << 4);
                case IQ3_S -> {
                    int high = bytes[at + 66 + four] >> (2 * quarter);
                    yield Grids.IQ3_S[index(bytes, at + 2 + 2 * number, high, 1)]
                            | (Grids.IQ3_S[index(bytes, at + 3 + 2 * number, high >> 1, 1)] << 32)
                            | (BITS[bits(bytes, at + 74 + number, 0, 255)] << 4);
                }
                case TQ1_0 -> ternary(bytes, at, number);
                default -> throw new AssertionError(this);
            };
        }

        /// Returns an index of a grid: a byte, and some bits above it.
        private static int index(byte[] bytes, int at, int high, int mask) {
            return bits(bytes, at, 0, 255) | ((high & mask) << 8);
        }

        /// Returns signs of which the eighth is the parity of the others.
        private static long signs(int bits) {
            int seven = bits & 0x7F;
            return BITS[seven | ((Integer.bitCount(seven) & 1) << 7)];
        }

        /// Returns digits to base 3. Byte `b` has the digits of `b / 256`: five of 32 bytes and of 16, and four of 4.
        private static long ternary(byte[] bytes, int at, int number) {
            if (number < 20) {
                return digits((long) LONG.get(bytes, at + Byte.SIZE * (number & 3)), number >> 2);
            }
            if (number < 30) {
                return digits((long) LONG.get(bytes, at + 32 + Byte.SIZE * (number & 1)), (number - 20) >> 1);
            }
            int last = word(bytes, at + 48, 0);
            int digit = 2 * (number - 30);
            return digits(last & 0xFFFF_FFFFL, digit) | (digits(last & 0xFFFF_FFFFL, digit + 1) << 32);
        }

        /// Returns a digit of each of eight bytes, computed in lanes of 16 bits.
        private static long digits(long bytes, int digit) {
            int power = POWERS_OF_THREE[digit];
            long even = ((bytes & EVEN) * power) & EVEN;
            long odd = (((bytes >>> 8) & EVEN) * power) & EVEN;
            return (((even * 3) >>> 8) & EVEN) | ((((odd * 3) >>> 8) & EVEN) << 8);
        }
    }

    /// Bits of all codes of a block. Each byte of a run has those of one code in its lowest bits, that of the code a
    /// run later above them, and so on; a run of one byte has those of adjacent codes.
    ///
    /// @param at the position in the block
    /// @param run the bytes of a run
    /// @param bits the bits of a code
    private record Plane(int at, int run, int bits) {
        /// Adds the bits to codes.
        ///
        /// @param bytes some blocks
        /// @param layout their layout
        /// @param blocks their number
        /// @param codes the codes
        /// @param shift the bits that other planes have below these; if there are none, the codes are set
        void read(byte[] bytes, Layout layout, int blocks, byte[] codes, int shift) {
            long mask = ONES * ((1 << bits) - 1);
            long keep = shift == 0 ? 0 : -1;
            int step = Math.min(run, Byte.SIZE);
            int length = layout.size * bits / Byte.SIZE;
            int group = run * Byte.SIZE / bits;
            // One loop, since C2 needs a long time to enter one.
            for (int left = blocks * length / step, i = 0, from = at, first = 0; left > 0; left--) {
                long eight = run == 1 ? BITS[bytes[from + i] & 0xFF] : (long) LONG.get(bytes, from + i);
                int to = first + i / run * group + i % run;
                add(codes, to, keep, eight & mask, shift);
                if (run > 1 && bits <= 4) {
                    add(codes, to + run, keep, (eight >>> bits) & mask, shift);
                }
                if (run > 1 && bits <= 2) {
                    add(codes, to + 2 * run, keep, (eight >>> (2 * bits)) & mask, shift);
                    add(codes, to + 3 * run, keep, (eight >>> (3 * bits)) & mask, shift);
                }
                if (run > 1 && bits == 1) {
                    add(codes, to + 4 * run, keep, (eight >>> 4) & mask, shift);
                    add(codes, to + 5 * run, keep, (eight >>> 5) & mask, shift);
                    add(codes, to + 6 * run, keep, (eight >>> 6) & mask, shift);
                    add(codes, to + 7 * run, keep, (eight >>> 7) & mask, shift);
                }
                i += step;
                if (i == length) {
                    i = 0;
                    from += layout.nbytes;
                    first += layout.size;
                }
            }
        }

        private static void add(byte[] codes, int to, long keep, long eight, int shift) {
            LONG.set(codes, to, ((long) LONG.get(codes, to) & keep) | (eight << shift));
        }
    }

    /// The codes of eight or four numbers for each index, as ggml has them. A file has 16 bits for each. Read when they
    /// are first needed, since few files have such blocks.
    private static final class Grids {
        private static final long TWO_BITS = 0x0303_0303_0303_0303L;
        private static final long FOUR_BITS = 0x0F0F_0F0FL;

        static final long[] IQ1;
        static final long[] IQ2_XXS;
        static final long[] IQ2_XS;
        static final long[] IQ2_S;
        static final long[] IQ3_XXS;
        static final long[] IQ3_S;

        static {
            try (InputStream in = Objects.requireNonNull(Grids.class.getResourceAsStream("ggml-grids.bin"))) {
                IQ1 = read(in, 2048, TWO_BITS);
                IQ2_XXS = read(in, 256, TWO_BITS);
                IQ2_XS = read(in, 512, TWO_BITS);
                IQ2_S = read(in, 1024, TWO_BITS);
                IQ3_XXS = read(in, 256, FOUR_BITS);
                IQ3_S = read(in, 512, FOUR_BITS);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static long[] read(InputStream in, int count, long mask) throws IOException {
            byte[] packed = in.readNBytes(Short.BYTES * count);
            long[] codes = new long[count];
            Arrays.setAll(codes, i -> Long.expand((short) SHORT.get(packed, Short.BYTES * i) & 0xFFFF, mask));
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
        int shift = 0;
        for (Plane plane : layout.planes) {
            plane.read(stored, layout, blocks, codes, shift);
            shift += plane.bits;
        }
        if (shift == 0) {
            int eights = layout.size / Byte.SIZE;
            for (int i = 0; i < blocks * eights; i++) {
                LONG.set(codes, Byte.SIZE * i, layout.eight(stored, i / eights * layout.nbytes, i % eights));
            }
        }
        float[] floats = block.floats();
        if (layout.isLinear) {
            for (int i = 0; i < count; i++) {
                floats[i] = codes[i];
            }
        } else {
            float[] values = layout.values;
            for (int i = 0; i < count; i++) {
                floats[i] = values[codes[i] & 0xFF];
            }
        }
        float[] scales = factors(stored, block, blocks, false);
        float offset = layout.offset;
        for (int i = 0; i < count; i++) {
            floats[i] = (floats[i] - offset) * scales[i];
        }
        if (layout.hasAddends()) {
            float[] addends = factors(stored, block, blocks, true);
            for (int i = 0; i < count; i++) {
                floats[i] += addends[i];
            }
        }
    }

    /// Returns the scale of each number, or the addend. They are written two at a time, as there is one for each lane
    /// of the loops that use them, and loops as short as a group are not vectorised.
    private float[] factors(byte[] stored, Block block, int blocks, boolean isAddend) {
        long[] pairs = block.longs();
        int groups = layout.size / layout.group;
        int end = blocks * layout.size / 2;
        float ofBlock = 0;
        long pair = 0;
        for (int position = 0, left = 0, number = 0, at = 0; position < end; position += 8) {
            if (left == 0) {
                if (number == 0) {
                    ofBlock = isAddend ? layout.addend(stored, at) : layout.scale(stored, at);
                }
                float factor = groups == 1
                        ? ofBlock
                        : isAddend
                                ? layout.addend(ofBlock, stored, at, number)
                                : layout.scale(ofBlock, stored, at, number);
                long bits = Float.floatToRawIntBits(factor) & 0xFFFF_FFFFL;
                pair = bits | (bits << 32);
                left = layout.group / 16;
                number++;
                if (number == groups) {
                    number = 0;
                    at += layout.nbytes;
                }
            }
            left--;
            pairs[position] = pair;
            pairs[position + 1] = pair;
            pairs[position + 2] = pair;
            pairs[position + 3] = pair;
            pairs[position + 4] = pair;
            pairs[position + 5] = pair;
            pairs[position + 6] = pair;
            pairs[position + 7] = pair;
        }
        float[] factors = block.factors();
        MemorySegment.copy(MemorySegment.ofArray(pairs), 0, MemorySegment.ofArray(factors), 0, 8L * end);
        return factors;
    }

    @Override
    UnsupportedOperationException noNumbers() {
        return new UnsupportedOperationException("elements of " + dtype() + " are blocks of " + layout.size
                + " numbers; to(DType.FLOAT32) of a tensor decodes them, and nothing encodes them; use bytes() for the "
                + "blocks");
    }
}
