package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.numpy.ArrayLayout;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/// The header of an array, checked against the size of the file or archive record that it is in. Other bytes may follow
/// the elements.
///
/// @param layout the elements
/// @param length the bytes of the header, behind which the elements are
record NpyHeader(ArrayLayout layout, int length) {
    static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    /// The magic number, the version, and the length of the rest, which takes 2 or 4 bytes.
    private static final int PREFIX = 12;
    private static final int SHORT_PREFIX = 10;
    /// The longest text of version 1.
    private static final int LONGEST_SHORT = 0xFFFF;
    /// The maximum memory for each byte of the text: `i,i,i` has a field in two bytes.
    private static final long COST = 64;
    private static final int NEWEST_VERSION = 3;
    private static final int ALIGNMENT = 64;
    /// NumPy leaves as much space for the first size as any size takes, so that arrays can grow in place.
    private static final int LONGEST_SIZE = 21;
    private static final int SHOWN = 60;

    /// The source of a header.
    @FunctionalInterface
    interface Source {
        /// {@return the first bytes, which are there}
        byte[] first(int count) throws IOException;
    }

    /// Reads a header.
    ///
    /// @param source where it is
    /// @param size the bytes of header and elements
    /// @param base where the header starts in the file, or [FormatException#NO_OFFSET] if it is compressed
    /// @param budget what reading the file may cost
    static NpyHeader read(Source source, long size, long base, ReadBudget budget) throws IOException {
        if (size < PREFIX) {
            throw damaged("NPY-HEADER", "an array of " + size + " bytes lacks its header", base);
        }
        byte[] start = source.first(PREFIX);
        if (!Arrays.equals(MAGIC, Arrays.copyOf(start, MAGIC.length))) {
            throw damaged("NPY-HEADER", "an array does not begin with the magic number of NumPy", base);
        }
        int version = start[MAGIC.length];
        if (version < 1 || version > NEWEST_VERSION || start[MAGIC.length + 1] != 0) {
            throw new FormatException("NPY-VERSION", "the format has version " + Byte.toUnsignedInt(start[MAGIC.length])
                    + "." + Byte.toUnsignedInt(start[MAGIC.length + 1]), base, "Versions 1.0 to 3.0 are known");
        }
        ByteBuffer numbers = ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN);
        int prefix = version == 1 ? SHORT_PREFIX : PREFIX;
        long length = version == 1
                ? Short.toUnsignedLong(numbers.getShort(8))
                : Integer.toUnsignedLong(numbers.getInt(8));
        if (length > size - prefix) {
            throw damaged("NPY-HEADER", "a header of " + length + " bytes does not fit into " + size, base);
        }
        budget.takeMemory(COST * length);
        budget.takeSteps(length);
        byte[] all = source.first(prefix + (int) length);
        String text = new String(all, prefix, (int) length, version == NEWEST_VERSION ? UTF_8 : ISO_8859_1);
        long textStart = base == FormatException.NO_OFFSET ? base : base + prefix;
        return checked(new DictReader(text, textStart, budget), all.length, size, base);
    }

    private static NpyHeader checked(DictReader text, int length, long size, long base) {
        try {
            ArrayLayout layout = ArrayLayout.of(text.type(), Shape.of(text.shape()), text.isFortran());
            if (layout.type().hasObjects()) {
                // A pickle has the elements, and the shape once more.
                return new NpyHeader(layout, length);
            }
            if (layout.nbytes() > size - length) {
                throw damaged("NPY-SIZE", "an array of shape " + layout.shape() + " and type "
                        + shortened(layout.type().descr()) + " takes " + layout.nbytes() + " bytes, and there are "
                        + (size - length), base);
            }
            layout.stride();
            return new NpyHeader(layout, length);
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw impossible(e, base);
        }
    }

    /// {@return whether a pickle is behind the header, and not the elements themselves}
    boolean isPickled() {
        return layout.type().hasObjects();
    }

    /// Refuses an array that is followed by other bytes.
    ///
    /// @param size the bytes of header and elements, and of what follows
    /// @param base where the header starts in the file, or [FormatException#NO_OFFSET] if it is compressed
    void requireEnd(long size, long base) {
        long more = size - length - layout.nbytes();
        if (more > 0 && !isPickled()) {
            throw new FormatException("NPY-SIZE", "an array of shape " + layout.shape() + " and type "
                    + shortened(layout.type().descr()) + " takes " + layout.nbytes() + " bytes, and " + more
                    + " more follow", base,
                    "If numpy.save wrote several arrays to one file, save them with numpy.savez; "
                            + "else get the file again from its source");
        }
    }

    /// {@return whether a tensor is written in column-major order: if its elements lie so, and not in row-major order
    /// too}
    ///
    /// @param tensor the tensor
    /// @param inner how many of its last dimensions are within an element of the array
    static boolean isFortran(Tensor tensor, int inner) {
        return !tensor.isContiguous() && tensor.flags().isEmpty() && reversed(tensor, inner).isContiguous();
    }

    /// {@return the tensor with its dimensions in the opposite order}
    ///
    /// @param tensor the tensor
    /// @param inner how many of its last dimensions stay where they are
    static Tensor reversed(Tensor tensor, int inner) {
        int rank = tensor.dim() - inner;
        int[] order = new int[tensor.dim()];
        Arrays.setAll(order, dim -> dim < rank ? rank - 1 - dim : dim);
        return tensor.permute(order);
    }

    /// {@return a header as NumPy writes it, of a multiple of 64 bytes}
    ///
    /// @param type the type of the elements
    /// @param shape the shape of the array
    /// @param isFortran whether the elements are in column-major order
    static byte[] bytes(NumpyType type, Shape shape, boolean isFortran) {
        StringBuilder text = new StringBuilder("{'descr': " + type.descr() + ", 'fortran_order': "
                + (isFortran ? "True" : "False") + ", 'shape': " + NumpyType.tuple(shape) + ", }");
        if (shape.rank() > 0) {
            text.repeat(' ', LONGEST_SIZE - Long.toString(shape.size(isFortran ? -1 : 0)).length());
        }
        // Versions 1 and 2 have Latin-1, and 3 has UTF-8; the length has two bytes in version 1, and then four.
        boolean isLatin = text.chars().allMatch(c -> c <= 0xFF);
        int size = text.toString().getBytes(isLatin ? ISO_8859_1 : UTF_8).length;
        boolean isShort = isLatin && size + ALIGNMENT <= LONGEST_SHORT;
        int prefix = isShort ? SHORT_PREFIX : PREFIX;
        byte[] rest = text.repeat(' ', ALIGNMENT - (prefix + size + 1) % ALIGNMENT).append('\n').toString()
                .getBytes(isLatin ? ISO_8859_1 : UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(prefix + rest.length).order(ByteOrder.LITTLE_ENDIAN).put(MAGIC)
                .put(new byte[]{(byte) (isShort ? 1 : isLatin ? 2 : NEWEST_VERSION), 0});
        (isShort ? bytes.putShort((short) rest.length) : bytes.putInt(rest.length)).put(rest);
        return bytes.array();
    }

    private static String shortened(String text) {
        return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "…";
    }

    /// {@return the refusal of an array that there cannot be}
    ///
    /// @param e why
    /// @param offset where it is in the file
    static FormatException impossible(RuntimeException e, long offset) {
        return damaged("NPY-HEADER", "an array cannot be: " + e.getMessage(), offset);
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }
}
