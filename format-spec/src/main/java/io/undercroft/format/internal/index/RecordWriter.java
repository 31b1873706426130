package io.undercroft.format.internal.index;

import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.format.internal.FreeRange;
import io.undercroft.format.internal.TensorFlag;
import io.undercroft.format.internal.TensorRecord;

/// The records of an index, field by field, as section 7 of `SPEC.md` lists them.
public final class RecordWriter {
    private RecordWriter() {}

    /// Writes the head of the directory.
    public static void head(FieldWriter out, int sections, long length, long sequence, int crc) {
        out.u32("signature", Index.SIGNATURE);
        out.u32("section count", sections);
        out.u64("index length", length);
        out.u64("sequence", sequence);
        out.u32("CRC32C of the directory", crc);
        out.zeros("reserved", 4);
    }

    /// Writes an entry of the directory.
    public static void entry(FieldWriter out, Section section, long start, int crc) {
        out.u32("section " + section.name(), section.code());
        out.u32("flags", section.flags());
        out.u64("offset in the index", start);
        out.u64("length", section.length());
        out.u64("count", section.count());
        out.u32("record size", (int) section.recordSize());
        out.u32("CRC32C", crc);
        out.zeros("reserved", 8);
    }

    /// Writes a record of EXTN.
    public static void extent(FieldWriter out, ExtentRecord extent) {
        out.u8("extent kind", extent.kind().code());
        out.u8("extent flags", extent.isShared() ? Index.SHARED : 0);
        out.u16("base", extent.base());
        out.u32("extent CRC32C", extent.sums().checksum());
        out.u64("file offset", extent.fileOffset());
        out.u64("extent length", extent.length());
        out.digest("digest", extent.digest());
    }

    /// Writes a record of STOR.
    public static void storage(FieldWriter out, long nbytes, int firstExtent, int device) {
        out.u64("storage nbytes", nbytes);
        out.u32("first extent", firstExtent);
        out.u32("device string", device);
    }

    /// Writes a record of TENS.
    ///
    /// @param firstDim where its sizes and strides start in DIMS
    /// @param name the number of the name it is shown by, or [Index#NONE]
    public static void tensor(FieldWriter out, TensorRecord tensor, int firstDim, int name) {
        out.u16("tensor dtype", tensor.dtype());
        out.u8("rank", tensor.rank());
        out.u8("flags", flags(tensor) | tensor.bitOffset() << Index.BIT_OFFSET);
        out.u32("storage", tensor.storage());
        out.u64("byte offset", tensor.byteOffset());
        out.u32("first dim", firstDim);
        out.u32("name", name);
    }

    private static int flags(TensorRecord tensor) {
        int bits = 0;
        for (TensorFlag flag : tensor.flags()) {
            bits |= flag.bit();
        }
        return bits;
    }

    /// Writes a record of DIMS that is a size.
    public static void size(FieldWriter out, long size) {
        out.u64("size", size);
    }

    /// Writes a record of DIMS that is a stride.
    public static void stride(FieldWriter out, long stride) {
        out.u64("stride", stride);
    }

    /// Writes a record of NAMS.
    public static void name(FieldWriter out, long text, int length, int tensor) {
        out.u64("name text offset", text);
        out.u32("text length", length);
        out.u32("tensor", tensor);
    }

    /// Writes a record of STRS.
    public static void string(FieldWriter out, long text, int length) {
        out.u64("string text offset", text);
        out.u32("text length", length);
        out.zeros("reserved", 4);
    }

    /// Writes a record of DTYP.
    public static void dtype(FieldWriter out, long text, int length, int bits) {
        out.u64("dtype text offset", text);
        out.u32("text length", length);
        out.u32("bits per block", bits);
        out.u32("elements per block", 1);
        out.zeros("reserved", 12);
    }

    /// Writes a record of BASE.
    public static void base(FieldWriter out, long text, int length, BaseRecord base) {
        out.u64("path text offset", text);
        out.u32("text length", length);
        out.u16("base kind", base.kind().code());
        out.u16("base depth", base.depth());
        out.uuid("base uuid", base.uuid());
        out.digest("base digest", base.digest());
        out.u64("base length", base.length());
        out.u64("base sequence", base.sequence());
        out.zeros("reserved", 32);
    }

    /// Writes a record of FREE.
    public static void freeRange(FieldWriter out, FreeRange range) {
        out.u64("free offset", range.offset());
        out.u64("free length", range.length());
    }
}
