package io.undercroft.format.internal.index;

import java.lang.foreign.MemorySegment;

/// The records of the format. For each table of fields in `SPEC.md` there is a namespace with its fields, in their
/// order, each with the name and the size that the table gives it; offsets follow from the order. All code that reads,
/// writes or checks records takes offsets and sizes from here.
public final class Records {
    private static final String RESERVED_NAME = "reserved";

    /// A byte of a section that has no records: text, or a tree.
    static final RecordLayout BYTES = new RecordLayout();

    static {
        BYTES.field("byte", 1);
    }

    private Records() {}

    /// {@return the directory of an index: its first bytes, whose length follows from its section count}
    public static MemorySegment directory(MemorySegment index) {
        return index.asSlice(0,
                DirectoryFields.RECORD.size() + SectionFields.RECORD.size() * DirectoryFields.SECTIONS.get(index, 0));
    }

    /// The header, section 5.
    public interface HeaderFields {
        RecordLayout RECORD = new RecordLayout();
        Field SIGNATURE = RECORD.field("signature", 8);
        Field MAJOR = RECORD.field("major version", 2);
        Field MINOR = RECORD.field("minor version", 2);
        Field LENGTH = RECORD.field("header length", 4);
        Field UUID = RECORD.field("file uuid", 16);
        Field REQUIRED = RECORD.field("required features", 8);
        Field READ_ONLY = RECORD.field("read-only-compatible features", 8);
        Field OPTIONAL = RECORD.field("optional features", 8);
        Field CHUNK_LOG2 = RECORD.field("chunk size, log2", 1);
        Field RESERVED = RECORD.field(RESERVED_NAME, 7);
        Field DATA_START = RECORD.field("data start", 8);
        Field SLOTS = RECORD.field("commit slots", 8);
        Field RESERVED_END = RECORD.field(RESERVED_NAME, 172);
        Field CRC = RECORD.field("CRC32C of the bytes before", 4);
    }

    /// A commit record, section 6.
    public interface CommitFields {
        RecordLayout RECORD = new RecordLayout();
        Field SIGNATURE = RECORD.field("signature", 4);
        Field LENGTH = RECORD.field("record length", 4);
        Field SEQUENCE = RECORD.field("sequence", 8);
        Field INDEX_OFFSET = RECORD.field("index offset", 8);
        Field INDEX_LENGTH = RECORD.field("index length", 8);
        Field DIRECTORY_DIGEST = RECORD.field("directory digest", 16);
        Field UUID = RECORD.field("file uuid", 16);
        Field COMMITTED_LENGTH = RECORD.field("committed length", 8);
        Field PREVIOUS = RECORD.field("previous record", 8);
        Field TIME = RECORD.field("time in ms", 8);
        Field REQUIRED = RECORD.field("required features", 8);
        Field ROOT_DIGEST = RECORD.field("root digest", 16);
        Field MESSAGE_LENGTH = RECORD.field("message length", 4);
        Field MESSAGE = RECORD.field("message", 508);
        Field RESERVED = RECORD.field(RESERVED_NAME, 140);
        Field CRC = RECORD.field("CRC32C of the bytes before", 4);
    }

    /// The head of the directory of an index, section 7.1.
    public interface DirectoryFields {
        RecordLayout RECORD = new RecordLayout();
        Field SIGNATURE = RECORD.field("signature", 4);
        Field SECTIONS = RECORD.field("section count", 4);
        Field LENGTH = RECORD.field("index length", 8);
        Field SEQUENCE = RECORD.field("sequence", 8);
        Field CRC = RECORD.field("CRC32C of the directory", 4);
        Field RESERVED = RECORD.field(RESERVED_NAME, 4);
    }

    /// An entry of the directory, section 7.2.
    public interface SectionFields {
        RecordLayout RECORD = new RecordLayout();
        Field SECTION = RECORD.field("section", 4);
        Field FLAGS = RECORD.field("flags", 4);
        Field OFFSET = RECORD.field("offset in the index", 8);
        Field LENGTH = RECORD.field("length", 8);
        Field COUNT = RECORD.field("count", 8);
        Field RECORD_SIZE = RECORD.field("record size", 4);
        Field CRC = RECORD.field("CRC32C", 4);
        Field RESERVED = RECORD.field(RESERVED_NAME, 8);
    }

    /// An extent, section 7.3.
    public interface ExtentFields {
        RecordLayout RECORD = new RecordLayout();
        Field KIND = RECORD.field("extent kind", 1);
        Field FLAGS = RECORD.field("extent flags", 1);
        Field BASE = RECORD.field("base", 2);
        Field CRC = RECORD.field("extent CRC32C", 4);
        Field OFFSET = RECORD.field("file offset", 8);
        Field LENGTH = RECORD.field("extent length", 8);
        Field DIGEST = RECORD.field("digest", 16);
    }

    /// A storage, section 7.4.
    public interface StorageFields {
        RecordLayout RECORD = new RecordLayout();
        Field NBYTES = RECORD.field("storage nbytes", 8);
        Field FIRST_EXTENT = RECORD.field("first extent", 4);
        Field DEVICE = RECORD.field("device string", 4);
    }

    /// A tensor, section 7.5.
    public interface TensorFields {
        RecordLayout RECORD = new RecordLayout();
        Field DTYPE = RECORD.field("tensor dtype", 2);
        Field RANK = RECORD.field("rank", 1);
        Field FLAGS = RECORD.field("flags", 1);
        Field STORAGE = RECORD.field("storage", 4);
        Field BYTE_OFFSET = RECORD.field("byte offset", 8);
        Field FIRST_DIM = RECORD.field("first dim", 4);
        Field NAME = RECORD.field("name", 4);
    }

    /// A size or a stride, section 7.6.
    public interface DimFields {
        RecordLayout RECORD = new RecordLayout();
        Field DIM = RECORD.field("size or stride", 8);
    }

    /// A name, section 7.7.
    public interface NameFields {
        RecordLayout RECORD = new RecordLayout("name");
        Field TENSOR = RECORD.field("tensor", 4);
    }

    /// A numbered string, section 7.8.
    public interface StringFields {
        RecordLayout RECORD = new RecordLayout("string");
        Field RESERVED = RECORD.field(RESERVED_NAME, 4);
    }

    /// An element type, section 7.9.
    public interface DTypeFields {
        RecordLayout RECORD = new RecordLayout("dtype");
        Field BITS = RECORD.field("bits per block", 4);
        Field ELEMENTS = RECORD.field("elements per block", 4);
        Field RESERVED = RECORD.field(RESERVED_NAME, 12);
    }

    /// Another file in which bytes are, section 7.10.
    public interface BaseFields {
        RecordLayout RECORD = new RecordLayout("path");
        Field KIND = RECORD.field("base kind", 2);
        Field DEPTH = RECORD.field("base depth", 2);
        Field UUID = RECORD.field("base uuid", 16);
        Field DIGEST = RECORD.field("base digest", 16);
        Field LENGTH = RECORD.field("base length", 8);
        Field SEQUENCE = RECORD.field("base sequence", 8);
        Field RESERVED = RECORD.field(RESERVED_NAME, 32);
    }

    /// A range of the file that no snapshot uses, section 7.11.
    public interface FreeRangeFields {
        RecordLayout RECORD = new RecordLayout();
        Field OFFSET = RECORD.field("free offset", 8);
        Field LENGTH = RECORD.field("free length", 8);
    }

    /// How an extent is coded, section 7.12.
    public interface CodingFields {
        RecordLayout RECORD = new RecordLayout();
        Field EXTENT = RECORD.field("coded extent", 4);
        Field CODEC = RECORD.field("codec", 1);
        Field WIDTH = RECORD.field("width", 1);
        Field REFERENCE_BASE = RECORD.field("reference base", 2);
        Field LENGTH = RECORD.field("coded length", 8);
        Field REFERENCE_OFFSET = RECORD.field("reference offset", 8);
        Field CRC = RECORD.field("coded CRC32C", 4);
        Field RESERVED = RECORD.field(RESERVED_NAME, 4);
    }

    /// The checksum of a block of the index, section 7.13.
    public interface BlockSumFields {
        RecordLayout RECORD = new RecordLayout();
        Field CRC = RECORD.field("block CRC32C", 4);
    }

    /// The head of the manifest of a set, section 9.1.
    public interface ManifestFields {
        RecordLayout RECORD = new RecordLayout();
        Field SIGNATURE = RECORD.field("signature", 8);
        Field MAJOR = RECORD.field("major version", 2);
        Field MINOR = RECORD.field("minor version", 2);
        Field SHARDS = RECORD.field("shard count", 4);
        Field UUID = RECORD.field("set uuid", 16);
        Field RECORD_SIZE = RECORD.field("record size", 4);
        Field TEXT_LENGTH = RECORD.field("text length", 4);
        Field LENGTH = RECORD.field("manifest length", 8);
        Field REQUIRED = RECORD.field("required features", 8);
        Field INDEX_LENGTH = RECORD.field("slices length", 8);
    }

    /// A file of a set, section 9.2.
    public interface ShardFields {
        RecordLayout RECORD = new RecordLayout();
        Field UUID = RECORD.field("shard uuid", 16);
        Field DIGEST = RECORD.field("shard digest", 16);
        Field SEQUENCE = RECORD.field("shard sequence", 8);
        Field LENGTH = RECORD.field("shard length", 8);
        Field PATH = RECORD.field("path offset", 4);
        Field PATH_LENGTH = RECORD.field("path length", 4);
        Field RESERVED = RECORD.field(RESERVED_NAME, 24);
    }
}
