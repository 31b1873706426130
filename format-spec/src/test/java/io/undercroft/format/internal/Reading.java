package io.undercroft.format.internal;

import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records.DirectoryFields;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/// All that the tables of a snapshot say, as two readers have it: ours, and the one that Kaitai makes of `croft.ksy`.
///
/// @param header the header
/// @param commit the commit record
/// @param head of the directory: how many sections, index length, sequence, checksum
/// @param entries of the directory: code, flags, offset, length, count, record size, checksum
/// @param ends how long the commit record is, and the checksums of header and commit record
/// @param extents the extents
/// @param storages the storages
/// @param tensors the tensors
/// @param shownAs the name that each tensor is shown by
/// @param names the names, each with the number of its tensor
/// @param dtypes the element types
/// @param bases the other files
/// @param freeRanges the free ranges
/// @param blockSums the checksums of the blocks of the index
/// @param tree the tokens of the state tree
/// @param metadata the tokens of the metadata
/// @param unknown the sections that this version does not know, with their bytes
record Reading(Header header, CommitRecord commit, List<Long> head, List<List<Object>> entries, List<Integer> ends,
        List<ExtentRecord> extents, List<StorageRecord> storages, List<TensorRecord> tensors, List<String> shownAs,
        List<String> names, List<DTypeRecord> dtypes,
        List<BaseRecord> bases, List<FreeRange> freeRanges, List<Integer> blockSums, List<String> tree,
        List<String> metadata, List<String> unknown) {
    /// {@return what our reader finds in a snapshot}
    static Reading of(Snapshot snapshot) {
        MemorySegment bytes = snapshot.index().bytes();
        int extents = snapshot.extentCount();
        int tensors = snapshot.tensorCount();
        return new Reading(snapshot.header(), snapshot.commit(),
                List.of(DirectoryFields.SECTIONS.get(bytes, 0), DirectoryFields.LENGTH.get(bytes, 0),
                        DirectoryFields.SEQUENCE.get(bytes, 0),
                        DirectoryFields.CRC.get(bytes, 0)),
                entries(bytes),
                List.of(snapshot.commit().recordLength(), crc(snapshot.header().encode()),
                        crc(snapshot.commit().encode())),
                list(extents, snapshot::extent),
                list(snapshot.storageCount(), snapshot::storage), list(tensors, snapshot::tensor),
                list(tensors, tensor -> shownAs(snapshot, tensor)),
                list(snapshot.nameCount(), name -> snapshot.name(name) + " " + snapshot.tensorOfName(name)),
                list(snapshot.dtypeCount(), snapshot::dtype), list(snapshot.baseCount(), snapshot::base),
                list(snapshot.freeRangeCount(), snapshot::freeRange), blockSums(snapshot.index()),
                TreeLines.of(snapshot.tree()),
                TreeLines.of(new StateTreeReader(snapshot.index().section(SectionType.META), Limits.DEFAULT, 0)),
                snapshot.unknownSections().stream()
                        .map(section -> section.code() + " "
                                + HexFormat.of().formatHex(section.bytes().toArray(ValueLayout.JAVA_BYTE)))
                        .toList());
    }

    private static <T> List<T> list(int count, IntFunction<T> record) {
        return IntStream.range(0, count).mapToObj(record).toList();
    }

    private static List<List<Object>> entries(MemorySegment bytes) {
        List<List<Object>> entries = new ArrayList<>();
        for (long at = Index.HEAD_BYTES; at < Records.directory(bytes).byteSize(); at += Index.ENTRY_BYTES) {
            String code = new String(bytes.asSlice(at, 4).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.ISO_8859_1);
            entries.add(List.of(code, SectionFields.FLAGS.get(bytes, at), SectionFields.OFFSET.get(bytes, at),
                    SectionFields.LENGTH.get(bytes, at), SectionFields.COUNT.get(bytes, at),
                    SectionFields.RECORD_SIZE.get(bytes, at),
                    SectionFields.CRC.get(bytes, at)));
        }
        return entries;
    }

    private static int crc(byte[] record) {
        return LittleEndian.i32(MemorySegment.ofArray(record), record.length - Integer.BYTES);
    }

    private static String shownAs(Snapshot snapshot, int tensor) {
        int name = snapshot.nameOfTensor(tensor);
        return name < 0 ? "nothing" : snapshot.name(name);
    }

    private static List<Integer> blockSums(Index index) {
        return list((int) index.count(SectionType.ISUM),
                block -> LittleEndian.i32(index.section(SectionType.ISUM), 4L * block));
    }

    /// {@return what Kaitai's reader finds in a snapshot}
    ///
    /// @param header the header of the file
    /// @param commit the commit record of the snapshot
    static Reading of(Parsed header, Parsed commit) {
        Parsed index = commit.get("index");
        return new Reading(header(header), commit(commit),
                List.of(index.number("head.section_count"), index.number("head.index_length"),
                        index.number("head.sequence"), index.number("head.crc32c_of_the_directory")),
                index.all("entries").map(Reading::entry).toList(),
                List.of(commit.integer("record_length"), header.bits("crc32c_of_the_bytes_before"),
                        commit.bits("crc32c_of_the_bytes_before")),
                extents(index), storages(index), records(index, "tensors", Reading::tensor),
                records(index, "tensors",
                        tensor -> tensor.get("shown_as").value() == null ? "nothing" : tensor.text("shown_as")),
                records(index, "names", name -> name.text("text") + " " + name.number("tensor")),
                records(index, "dtypes", Reading::dtype), records(index, "bases", Reading::base),
                records(index, "free_ranges",
                        range -> new FreeRange(range.number("free_offset"), range.number("free_length"))),
                records(index, "block_sums", sum -> sum.bits("crc32c")), TreeLines.of(index.get("tree.value")),
                TreeLines.of(index.get("metadata.value")),
                index.all("entries").filter(Reading::isUnknown)
                        .map(entry -> entry.text("section") + " " + HexFormat.of().formatHex(entry.bytes("content")))
                        .toList());
    }

    private static <T> List<T> records(Parsed index, String section, Function<Parsed, T> record) {
        return index.all(section + ".records").map(record).toList();
    }

    private static Header header(Parsed header) {
        return new Header(header.integer("minor_version"), header.uuid("file_uuid"),
                header.number("required_features"), header.number("read_only_compatible_features"),
                header.number("optional_features"), header.integer("chunk_size_log2"), header.number("data_start"),
                header.number("commit_slots"));
    }

    private static CommitRecord commit(Parsed commit) {
        return new CommitRecord(commit.number("sequence"), commit.number("index_offset"),
                commit.number("index_length"), commit.digest("directory_digest"), commit.uuid("file_uuid"),
                commit.number("committed_length"), commit.number("previous_record"), commit.number("time_in_ms"),
                commit.number("required_features"), commit.digest("root_digest"), commit.text("text"));
    }

    private static List<Object> entry(Parsed entry) {
        return List.of(entry.text("section"), entry.number("flags"), entry.number("offset_in_the_index"),
                entry.number("length"), entry.number("count"), entry.number("record_size"), entry.number("crc32c"));
    }

    private static boolean isUnknown(Parsed entry) {
        return SectionType.of(SectionType.code(entry.text("section"))) == null;
    }

    private static List<ExtentRecord> extents(Parsed index) {
        Map<Integer, Coding> codings = new HashMap<>();
        index.all("codings.records").forEach(coding -> codings.put(coding.integer("coded_extent"), coding(coding)));
        List<ExtentRecord> extents = new ArrayList<>();
        index.all("extents.records").forEach(extent -> extents.add(
                new ExtentRecord(ExtentKind.of(extent.integer("extent_kind.id")), extent.is("is_shared"),
                        extent.integer("base"), extent.number("file_offset"), extent.number("extent_length"),
                        new ExtentSums(extent.bits("extent_crc32c"), extent.digest("digest")),
                        codings.remove(extents.size()))));
        if (!codings.isEmpty()) {
            throw new IllegalArgumentException("codings of extents that are not there: " + codings);
        }
        return extents;
    }

    private static Coding coding(Parsed coding) {
        return new Coding(coding.integer("codec.id"), coding.integer("width"), coding.number("coded_length"),
                coding.bits("coded_crc32c"), coding.integer("reference_base"), coding.number("reference_offset"));
    }

    /// The extents of a storage end where those of the next one start.
    private static List<StorageRecord> storages(Parsed index) {
        List<StorageRecord> storages = new ArrayList<>();
        int end = (int) index.all("extents.records").count();
        for (Parsed storage : index.all("storages.records").toList().reversed()) {
            int first = storage.integer("first_extent");
            storages.addFirst(
                    new StorageRecord(storage.number("storage_nbytes"), first, end - first, storage.text("device")));
            end = first;
        }
        return storages;
    }

    private static TensorRecord tensor(Parsed tensor) {
        return new TensorRecord(tensor.integer("tensor_dtype"), tensor.integer("storage"),
                tensor.number("byte_offset"), tensor.integer("bit_offset"), flags(tensor), dims(tensor, "shape"),
                dims(tensor, "strides"));
    }

    private static Set<TensorFlag> flags(Parsed tensor) {
        Set<TensorFlag> flags = EnumSet.noneOf(TensorFlag.class);
        for (TensorFlag flag : TensorFlag.values()) {
            boolean isSet = tensor.is(switch (flag) {
                case REQUIRES_GRAD -> "requires_grad";
                case CONJUGATE -> "is_conjugate";
                case NEGATIVE -> "is_negative";
                case REVERSED -> "is_reversed";
            });
            if (isSet) {
                flags.add(flag);
            }
        }
        return flags;
    }

    private static long[] dims(Parsed tensor, String which) {
        return tensor.all(which).mapToLong(dim -> dim.number("size_or_stride")).toArray();
    }

    private static DTypeRecord dtype(Parsed dtype) {
        return new DTypeRecord(dtype.text("text"),
                dtype.integer("bits_per_block") / dtype.integer("elements_per_block"));
    }

    private static BaseRecord base(Parsed base) {
        return new BaseRecord(BaseKind.of(base.integer("base_kind.id")), base.text("text"), base.integer("base_depth"),
                base.uuid("base_uuid"), base.digest("base_digest"), base.number("base_length"),
                base.number("base_sequence"));
    }
}
