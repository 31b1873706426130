package io.undercroft.format;

import io.undercroft.format.internal.BlockSums;
import io.undercroft.format.internal.Index;
import io.undercroft.format.internal.MetadataEncoder;
import io.undercroft.format.internal.SectionType;
import io.undercroft.format.internal.Utf8;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/// Writes an index with Chronicle Bytes, section by section in canonical order.
///
/// The directory stands first but sums up what follows, so each section is written twice: once aside to measure and sum
/// it, and once in its place. That keeps one piece of code for files and for annotated dumps.
final class IndexEncoder {
    private final Content content;
    private final List<byte[]> texts = new ArrayList<>();
    private final IdentityHashMap<byte[], Integer> nameNumbers = new IdentityHashMap<>();

    private int[] blockSums = {};

    private record Summary(long start, long length, long count, int crc) {
        long end() {
            return start + length;
        }
    }

    /// What an index says, in the order in which its tables say it.
    ///
    /// @param tensorNames for each tensor the name it is shown by, which is the very array that is a key of `names`
    record Content(List<DTypeRecord> dtypes, List<String> strings, List<ExtentRecord> extents, List<int[]> checksums,
            List<StorageRecord> storages, List<TensorRecord> tensors, List<byte @Nullable []> tensorNames,
            SortedMap<byte[], Integer> names, MemorySegment tree, MemorySegment metadata, List<BaseRecord> bases,
            List<FreeRange> freeRanges) {}

    IndexEncoder(Content content) {
        this.content = content;
        content.dtypes().forEach(dtype -> texts.add(Utf8.encode(dtype.name())));
        content.strings().forEach(string -> texts.add(Utf8.encode(string)));
        for (byte[] name : content.names().keySet()) {
            nameNumbers.put(name, nameNumbers.size());
            texts.add(name);
        }
        content.bases().forEach(base -> texts.add(Utf8.encode(base.path())));
    }

    byte[] encode(long sequence) {
        Bytes<?> out = Bytes.allocateElasticOnHeap(Layout.PAGE);
        write(out, sequence);
        return out.toByteArray();
    }

    /// Writes the index; what `out` holds already is left alone.
    void write(Bytes<?> out, long sequence) {
        Map<SectionType, Summary> summaries = summarize();
        Bytes<?> scratch = Bytes.allocateElasticOnHeap(Layout.PAGE);
        writeDirectory(scratch, summaries, sequence, 0);
        int crc = Index.directoryChecksum(MemorySegment.ofArray(scratch.toByteArray()));
        writeDirectory(out, summaries, sequence, crc);
        long end = writeSections(out, summaries, directoryLength(summaries.size()));
        pad(out, align(end) - end);
    }

    /// Writes what follows the directory; returns where in the index it ends.
    private long writeSections(Bytes<?> out, Map<SectionType, Summary> summaries, long directory) {
        long end = directory;
        for (Map.Entry<SectionType, Summary> section : summaries.entrySet()) {
            pad(out, section.getValue().start() - end);
            writeSection(out, section.getKey());
            end = section.getValue().end();
        }
        return end;
    }

    private Map<SectionType, Summary> summarize() {
        List<SectionType> types = new ArrayList<>(List.of(SectionType.values()));
        types.remove(SectionType.ISUM);
        if (content.bases().isEmpty()) {
            types.remove(SectionType.BASE);
        }
        if (content.freeRanges().isEmpty()) {
            types.remove(SectionType.FREE);
        }
        Map<SectionType, Summary> summaries = summarize(types, directoryLength(types.size()));
        if (align(end(summaries)) <= BlockSums.SMALL_INDEX) {
            return summaries;
        }
        long directory = directoryLength(types.size() + 1);
        Map<SectionType, Summary> summed = summarize(types, directory);
        blockSums = blockSums(summed, directory);
        summed.put(SectionType.ISUM, summary(SectionType.ISUM, align(end(summed))));
        return summed;
    }

    private Map<SectionType, Summary> summarize(List<SectionType> types, long directory) {
        Map<SectionType, Summary> summaries = new EnumMap<>(SectionType.class);
        long end = directory;
        for (SectionType type : types) {
            Summary summary = summary(type, align(end));
            summaries.put(type, summary);
            end = summary.end();
        }
        return summaries;
    }

    private Summary summary(SectionType type, long start) {
        Bytes<?> section = Bytes.allocateElasticOnHeap();
        writeSection(section, type);
        byte[] bytes = section.toByteArray();
        return new Summary(start, bytes.length, bytes.length / type.recordSize(),
                Digests.crc32c(MemorySegment.ofArray(bytes)));
    }

    /// Sums up the blocks of an index that has these sections and then, at the next multiple of 64, ISUM.
    private int[] blockSums(Map<SectionType, Summary> summaries, long directory) {
        Bytes<?> index = Bytes.allocateElasticOnHeap();
        pad(index, directory);
        long end = writeSections(index, summaries, directory);
        pad(index, align(end) - end);
        MemorySegment bytes = MemorySegment.ofArray(index.toByteArray());
        int[] sums = new int[(int) BlockSums.count(align(end))];
        for (int block = 0; block < sums.length; block++) {
            sums[block] = BlockSums.of(bytes, directory, align(end), block);
        }
        return sums;
    }

    private static long directoryLength(int sections) {
        return Index.HEAD_BYTES + (long) Index.ENTRY_BYTES * sections;
    }

    private static long end(Map<SectionType, Summary> summaries) {
        return summaries.values().stream().mapToLong(Summary::end).max().orElse(0);
    }

    private static long align(long position) {
        return (position + Layout.SMALL_ALIGNMENT - 1) & -Layout.SMALL_ALIGNMENT;
    }

    private static void writeDirectory(Bytes<?> out, Map<SectionType, Summary> summaries, long sequence, int crc) {
        out.writeHexDumpDescription("signature").writeInt(Index.SIGNATURE);
        out.writeHexDumpDescription("section count").writeInt(summaries.size());
        out.writeHexDumpDescription("index length").writeLong(align(end(summaries)));
        out.writeHexDumpDescription("sequence").writeLong(sequence);
        out.writeHexDumpDescription("CRC32C of the directory").writeInt(crc);
        out.writeHexDumpDescription("reserved").writeInt(0);
        summaries.forEach((type, summary) -> {
            out.writeHexDumpDescription("section " + type).writeInt(type.code());
            out.writeHexDumpDescription("flags").writeInt(type.flags());
            out.writeHexDumpDescription("offset in the index").writeLong(summary.start());
            out.writeHexDumpDescription("length").writeLong(summary.length());
            out.writeHexDumpDescription("count").writeLong(summary.count());
            out.writeHexDumpDescription("record size").writeInt(type.recordSize());
            out.writeHexDumpDescription("CRC32C").writeInt(summary.crc());
            out.writeHexDumpDescription("reserved").writeLong(0);
        });
    }

    private static void pad(Bytes<?> out, long length) {
        if (length > 0) {
            MetadataEncoder.writeRun(out, "padding", new byte[(int) length]);
        }
    }

    private void writeSection(Bytes<?> out, SectionType type) {
        switch (type) {
            case EXTN -> content.extents().forEach(extent -> writeExtent(out, extent));
            case STOR -> content.storages().forEach(storage -> writeStorage(out, storage));
            case TENS -> writeTensors(out);
            case DIMS -> content.tensors().forEach(tensor -> writeDims(out, tensor));
            case NAMS -> writeNames(out);
            case STRS -> writeStrings(out);
            case DTYP -> writeDTypes(out);
            case STRB -> texts.forEach(text -> MetadataEncoder.writeRun(out, "text", text));
            case CHKS -> content.checksums().forEach(crcs -> writeChecksums(out, crcs));
            case TREE -> writeTree(out, content.tree());
            case META -> writeTree(out, content.metadata());
            case BASE -> writeBases(out);
            case FREE -> content.freeRanges().forEach(range -> writeFreeRange(out, range));
            case ISUM -> writeBlockSums(out);
        }
    }

    private static void writeExtent(Bytes<?> out, ExtentRecord extent) {
        out.writeHexDumpDescription("extent kind").writeUnsignedShort(extent.kind().code());
        out.writeHexDumpDescription("extent flags").writeUnsignedShort(extent.isShared() ? Index.SHARED : 0);
        out.writeHexDumpDescription("base").writeInt(extent.base());
        out.writeHexDumpDescription("file offset").writeLong(extent.fileOffset());
        out.writeHexDumpDescription("stored length").writeLong(extent.storedLength());
        out.writeHexDumpDescription("logical length").writeLong(extent.logicalLength());
        out.writeHexDumpDescription("first checksum").writeLong(extent.firstChecksum());
        MetadataEncoder.writeDigest(out, "digest", extent.digest());
        out.writeHexDumpDescription("reserved").writeLong(0);
    }

    private void writeStorage(Bytes<?> out, StorageRecord storage) {
        out.writeHexDumpDescription("storage nbytes").writeLong(storage.nbytes());
        out.writeHexDumpDescription("first extent").writeLong(storage.firstExtent());
        out.writeHexDumpDescription("extent count").writeInt(storage.extentCount());
        out.writeHexDumpDescription("flags").writeInt(0);
        out.writeHexDumpDescription("device string").writeInt(content.strings().indexOf(storage.device()));
        out.writeHexDumpDescription("reserved").writeInt(0).writeLong(0);
    }

    private void writeTensors(Bytes<?> out) {
        long firstDim = 0;
        for (int i = 0; i < content.tensors().size(); i++) {
            TensorRecord tensor = content.tensors().get(i);
            byte[] name = content.tensorNames().get(i);
            int bits = tensor.flags().stream().mapToInt(TensorFlag::bit).sum();
            out.writeHexDumpDescription("tensor dtype").writeInt(tensor.dtype());
            out.writeHexDumpDescription("rank").writeUnsignedShort(tensor.rank());
            out.writeHexDumpDescription("flags").writeUnsignedShort(bits);
            out.writeHexDumpDescription("storage").writeInt(tensor.storage());
            out.writeHexDumpDescription("bit offset").writeInt(tensor.bitOffset());
            out.writeHexDumpDescription("byte offset").writeLong(tensor.byteOffset());
            out.writeHexDumpDescription("first dim").writeLong(firstDim);
            out.writeHexDumpDescription("name").writeInt(name == null ? (int) Index.NONE : numberOf(name));
            MetadataEncoder.writeRun(out, "reserved", new byte[28]);
            firstDim += 2L * tensor.rank();
        }
    }

    private int numberOf(byte[] name) {
        Integer number = nameNumbers.get(name);
        if (number == null) {
            throw new AssertionError("a name of a tensor is not among the names");
        }
        return number;
    }

    private static void writeDims(Bytes<?> out, TensorRecord tensor) {
        for (long size : tensor.shape()) {
            out.writeHexDumpDescription("size").writeLong(size);
        }
        for (long stride : tensor.stride()) {
            out.writeHexDumpDescription("stride").writeLong(stride);
        }
    }

    private void writeNames(Bytes<?> out) {
        int[] text = {content.dtypes().size() + content.strings().size()};
        long[] offset = {textLength(0, text[0])};
        content.names().forEach((name, tensor) -> {
            writeTextPlace(out, "name", offset[0], name.length);
            out.writeHexDumpDescription("tensor").writeInt(tensor);
            out.writeHexDumpDescription("reserved").writeLong(0);
            offset[0] += name.length;
        });
    }

    private void writeStrings(Bytes<?> out) {
        long offset = textLength(0, content.dtypes().size());
        for (int i = 0; i < content.strings().size(); i++) {
            int length = texts.get(content.dtypes().size() + i).length;
            writeTextPlace(out, "string", offset, length);
            out.writeHexDumpDescription("reserved").writeInt(0);
            offset += length;
        }
    }

    private void writeDTypes(Bytes<?> out) {
        long offset = 0;
        for (int i = 0; i < content.dtypes().size(); i++) {
            int length = texts.get(i).length;
            writeTextPlace(out, "dtype", offset, length);
            out.writeHexDumpDescription("bits per block").writeInt(content.dtypes().get(i).bits());
            out.writeHexDumpDescription("elements per block").writeInt(1);
            out.writeHexDumpDescription("reserved").writeInt(0).writeLong(0);
            offset += length;
        }
    }

    private void writeBases(Bytes<?> out) {
        int first = texts.size() - content.bases().size();
        long offset = textLength(0, first);
        for (int i = 0; i < content.bases().size(); i++) {
            BaseRecord base = content.bases().get(i);
            int length = texts.get(first + i).length;
            writeTextPlace(out, "path", offset, length);
            out.writeHexDumpDescription("base kind").writeUnsignedShort(base.kind().code());
            out.writeHexDumpDescription("base depth").writeUnsignedShort(base.depth());
            MetadataEncoder.writeUuid(out, "base uuid", base.uuid());
            MetadataEncoder.writeDigest(out, "base digest", base.digest());
            out.writeHexDumpDescription("base length").writeLong(base.length());
            out.writeHexDumpDescription("base sequence").writeLong(base.sequence());
            MetadataEncoder.writeRun(out, "reserved", new byte[32]);
            offset += length;
        }
    }

    private static void writeFreeRange(Bytes<?> out, FreeRange range) {
        out.writeHexDumpDescription("free offset").writeLong(range.offset());
        out.writeHexDumpDescription("free length").writeLong(range.length());
    }

    private void writeBlockSums(Bytes<?> out) {
        for (int sum : blockSums) {
            out.writeHexDumpDescription("block CRC32C").writeInt(sum);
        }
    }

    private static void writeTextPlace(Bytes<?> out, String what, long offset, int length) {
        out.writeHexDumpDescription(what + " text offset").writeLong(offset);
        out.writeHexDumpDescription("text length").writeInt(length);
    }

    private long textLength(int from, int to) {
        return texts.subList(from, to).stream().mapToLong(text -> text.length).sum();
    }

    private static void writeChecksums(Bytes<?> out, int[] crcs) {
        for (int crc : crcs) {
            out.writeHexDumpDescription("chunk CRC32C").writeInt(crc);
        }
    }

    /// A tree is copied token by token, which checks it and gives each token its line in a dump.
    private static void writeTree(Bytes<?> out, MemorySegment tree) {
        StateTreeReader reader = new StateTreeReader(tree, Limits.DEFAULT, 0);
        StateToken token = reader.next();
        while (token != StateToken.DONE) {
            MemorySegment bytes = tree.asSlice(reader.offset(), reader.end() - reader.offset());
            MetadataEncoder.writeRun(out, token.name(), bytes.toArray(ValueLayout.JAVA_BYTE));
            token = reader.next();
        }
    }
}
