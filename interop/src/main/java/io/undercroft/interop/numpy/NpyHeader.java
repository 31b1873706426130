package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.Collectors;

/// The header of an array, checked against the size of the file or archive record that it is in.
///
/// @param type the type of the elements
/// @param isFortran whether they are in column-major order
/// @param shape the sizes
/// @param length the bytes of the header, behind which the elements are
/// @param nbytes the bytes of the elements
record NpyHeader(NumpyType type, boolean isFortran, Shape shape, int length, long nbytes) {
    static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    /// The magic number, the version, and the length of the rest, which takes 2 or 4 bytes.
    private static final int PREFIX = 12;
    private static final int SHORT_PREFIX = 10;
    /// NumPy itself accepts 10 000 by default.
    private static final int LONGEST = 0xFFFF;
    private static final int NEWEST_VERSION = 3;
    private static final int ALIGNMENT = 64;
    /// NumPy leaves as much space for the first size as any size takes, so that arrays can grow in place.
    private static final int LONGEST_SIZE = 21;

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
    static NpyHeader read(Source source, long size, long base) throws IOException {
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
        if (length > LONGEST || length > size - prefix) {
            throw damaged("NPY-HEADER", "a header of " + length + " bytes does not fit into " + size, base);
        }
        byte[] all = source.first(prefix + (int) length);
        String text = new String(all, prefix, (int) length, version == NEWEST_VERSION ? UTF_8 : ISO_8859_1);
        return checked(new DictReader(text, base == FormatException.NO_OFFSET ? base : base + prefix), all.length, size,
                base);
    }

    private static NpyHeader checked(DictReader text, int length, long size, long base) {
        try {
            Shape shape = Shape.of(text.shape());
            long nbytes = text.type().dtype().nbytes(shape.numel());
            if (nbytes < size - length) {
                throw new FormatException("NPY-SIZE", "an array of shape " + shape + " and type " + text.type().dtype()
                        + " takes " + nbytes + " bytes, and " + (size - length - nbytes) + " more follow", base,
                        "If numpy.save wrote several arrays to one file, save them with numpy.savez; "
                                + "else get the file again from its source");
            }
            if (nbytes != size - length) {
                throw damaged("NPY-SIZE", "an array of shape " + shape + " and type " + text.type().dtype() + " takes "
                        + nbytes + " bytes, and there are " + (size - length), base);
            }
            NpyHeader header = new NpyHeader(text.type(), text.isFortran(), shape, length, nbytes);
            header.stride();
            return header;
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw damaged("NPY-HEADER", "an array cannot be: " + e.getMessage(), base);
        }
    }

    /// {@return the tensor on its elements}
    Tensor on(Storage storage) {
        return Tensor.of(storage, type.dtype(), 0, shape, stride());
    }

    private long[] stride() {
        if (!isFortran) {
            return shape.contiguousStride();
        }
        long[] stride = new long[shape.rank()];
        long step = 1;
        for (int dim = 0; dim < stride.length; dim++) {
            stride[dim] = step;
            step = Math.multiplyExact(step, Math.max(shape.size(dim), 1));
        }
        return stride;
    }

    /// {@return whether a tensor is written in column-major order: if its elements lie so, and not in row-major order
    /// too}
    static boolean isFortran(Tensor tensor) {
        return !tensor.isContiguous() && tensor.flags().isEmpty() && reversed(tensor).isContiguous();
    }

    /// {@return the tensor with its dimensions in the opposite order}
    static Tensor reversed(Tensor tensor) {
        int rank = tensor.dim();
        int[] order = new int[rank];
        Arrays.setAll(order, dim -> rank - 1 - dim);
        return tensor.permute(order);
    }

    /// {@return a header as NumPy writes it, of a multiple of 64 bytes}
    ///
    /// @param descr the type of the elements
    /// @param tensor the tensor
    static byte[] bytes(String descr, Tensor tensor) {
        boolean fortran = isFortran(tensor);
        long[] sizes = tensor.shape().toArray();
        String tuple = Arrays.stream(sizes).mapToObj(Long::toString).collect(Collectors.joining(", "))
                + (sizes.length == 1 ? "," : "");
        StringBuilder text = new StringBuilder("{'descr': '" + descr + "', 'fortran_order': "
                + (fortran ? "True" : "False") + ", 'shape': (" + tuple + "), }");
        if (sizes.length > 0) {
            long growing = sizes[fortran ? sizes.length - 1 : 0];
            text.repeat(' ', LONGEST_SIZE - Long.toString(growing).length());
        }
        int padding = ALIGNMENT - (SHORT_PREFIX + text.length() + 1) % ALIGNMENT;
        byte[] rest = text.repeat(' ', padding).append('\n').toString().getBytes(ISO_8859_1);
        return ByteBuffer.allocate(SHORT_PREFIX + rest.length).order(ByteOrder.LITTLE_ENDIAN).put(MAGIC)
                .put(new byte[]{1, 0}).putShort((short) rest.length).put(rest).array();
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }
}
