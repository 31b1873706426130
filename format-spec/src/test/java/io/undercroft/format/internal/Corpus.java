package io.undercroft.format.internal;

import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/// Files that break a rule of SPEC.md each, and no other: all checksums match but where the rule is about them. Any
/// reader of the format can be held against them. A name is that of the rule, and what is wrong where there are
/// several.
///
/// `main`, run in the folder of this module, writes them anew; the tests only compare.
final class Corpus {
    static final Path FOLDER = Path.of("src/test/resources/corpus");

    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);
    /// Where the bytes of storage 1 of the golden file begin.
    private static final long PAYLOAD = FileLayout.DATA_START;

    private final Map<String, byte[]> files = new TreeMap<>();

    private Corpus() {}

    public static void main(String[] unused) throws IOException {
        Files.createDirectories(FOLDER);
        for (Map.Entry<String, byte[]> file : files().entrySet()) {
            Files.write(FOLDER.resolve(file.getKey()), file.getValue());
        }
    }

    /// {@return the files by their names}
    static Map<String, byte[]> files() {
        Corpus corpus = new Corpus();
        corpus.addWhatIsWrongInTables();
        corpus.addWhatIsWrongInText();
        corpus.addWhatIsWrongInPages();
        corpus.addWhatIsWrongInData();
        corpus.addWhatIsWrongInCodings();
        corpus.addWhatIsWrongBetweenSnapshots();
        corpus.addWhatIsWrongElsewhere();
        return corpus.files;
    }

    private void addWhatIsWrongInTables() {
        Forgery golden = golden();
        long extent = golden.at(SectionType.EXTN, 1);
        long tensor = golden.at(SectionType.TENS, 0);
        long dims = golden.at(SectionType.DIMS, 0);
        add(Rule.V1_ARITHMETIC, "", golden().putLong(golden.at(SectionType.EXTN, 0) + 16, -1).sealed());
        add(Rule.V1_ARITHMETIC, "storage", golden().putLong(golden.at(SectionType.STOR, 0), 1L << 60).sealed());
        add(Rule.V2_RANGE, "", golden().putLong(extent + 8, 1L << 40).sealed());
        add(Rule.V2_RANGE, "alignment", golden().putLong(golden.at(SectionType.EXTN, 3) + 8, 0x481).sealed());
        add(Rule.V2_RANGE, "overlap", overlapping());
        add(Rule.V2_RANGE, "shared", golden().putByte(extent + 1, 1).sealed());
        add(Rule.V4_EXTENT_SUM, "", golden().putLong(golden.at(SectionType.STOR, 1), 49).sealed());
        add(Rule.V4_EXTENT_SUM, "chunk", golden().putLong(golden.at(SectionType.EXTN, 2) + 16, 65_537)
                .putLong(golden.at(SectionType.STOR, 1), 65_537).sealed());
        add(Rule.V5_STRIDE_RANGE, "", golden().putLong(tensor + 8, 4).sealed());
        add(Rule.V5_STRIDE_RANGE, "negative", golden().putLong(dims + 16, -4).sealed());
        add(Rule.V7_EXPANSION, "", golden().putLong(golden.at(SectionType.EXTN, 0) + 16, 1L << 47)
                .putLong(golden.at(SectionType.STOR, 0), (1L << 47) + 80).sealed());
        add(Rule.V8_LIMIT, "", golden().putByte(tensor + 2, 65).sealed());
        add(Rule.V9_RESERVED, "", golden().putByte(golden.at(SectionType.STRS, 0) + 12, 0x80).sealed());
        add(Rule.V9_RESERVED, "flag", golden().putByte(tensor + 3, 0x80).sealed());
        add(Rule.V10_INDEX, "", golden().putInt(tensor + 4, 1000).sealed());
        add(Rule.V10_INDEX, "text", golden().putLong(golden.at(SectionType.NAMS, 1),
                golden.getLong(golden.entry(SectionType.STRB) + 16) - 1).sealed());
        add(Rule.V13_UNSUPPORTED, "kind", golden().putByte(extent, 9).sealed());
        add(Rule.V15_STRUCTURE, "", golden().putInt(golden.at(SectionType.DTYP, 0) + 12, 0).sealed());
        add(Rule.V15_STRUCTURE, "count", golden().putLong(golden.entry(SectionType.TENS) + 24, 4).sealed());
    }

    private void addWhatIsWrongInText() {
        Forgery golden = golden();
        long second = golden.at(SectionType.NAMS, 2);
        long first = golden.at(SectionType.NAMS, 1);
        add(Rule.V6_NAME, "", golden().putByte(golden.at(SectionType.STRB, 0) + 30, 0xFF).sealed());
        add(Rule.V6_NAME, "order",
                golden().putLong(first, golden.getLong(second)).putLong(second, golden.getLong(first))
                        .sealed());
        add(Rule.V16_TREE, "", golden().putByte(golden.at(SectionType.TREE, 0), 0).sealed());
        add(Rule.V16_TREE, "metadata", golden().putByte(golden.at(SectionType.META, 0), 0x10).sealed());
    }

    private void addWhatIsWrongInPages() {
        long slot = golden().slot();
        add(Rule.V12_SIGNATURE, "", new byte[FileLayout.PREFIX_BYTES]);
        add(Rule.V13_UNSUPPORTED, "", golden().putLong(32, 4).sealedPage(0));
        add(Rule.V13_UNSUPPORTED, "section",
                golden().putInt(golden().entry(SectionType.META), 0x58585858).sealed());
        add(Rule.V15_STRUCTURE, "header", golden().putInt(12, 8192).sealedPage(0));
        byte[] uncommitted = GOLDEN.clone();
        Arrays.fill(uncommitted, Math.toIntExact(slot), Math.toIntExact(slot + FileLayout.COMMIT_BYTES), (byte) 0);
        add(Rule.V17_COMMIT, "", uncommitted);
        add(Rule.V17_COMMIT, "uuid", golden().putByte(16, 0).sealedPage(0));
        add(Rule.V19_CHAIN, "", golden().putLong(slot + 72, FileLayout.DATA_START).sealedPage(slot));
    }

    private void addWhatIsWrongInData() {
        add(Rule.V3_GAP, "", golden().putByte(0x3000, 1).sealed());
        add(Rule.V11_TRUNCATED, "", Arrays.copyOf(GOLDEN, GOLDEN.length - 1));
        add(Rule.V14_CHECKSUM, "", golden().putByte(PAYLOAD, 0).sealed());
        add(Rule.V14_CHECKSUM, "index", golden().putByte(golden().at(SectionType.TENS, 1), 1).sealedDirectory());
        add(Rule.V14_CHECKSUM, "root", golden().putByte(golden().slot() + 96, 0).sealedPage(golden().slot()));
    }

    /// In the file, extent 1 is coded against extent 0, as the record 0 of CODE says, and extent 2 alone.
    private void addWhatIsWrongInCodings() {
        Forgery file = coded();
        long first = file.at(SectionType.CODE, 0);
        long second = file.at(SectionType.CODE, 1);
        add(Rule.V2_RANGE, "reference", coded().putLong(first + 16, file.indexOffset() + 4096).sealed());
        add(Rule.V2_RANGE, "reference-in-index", codedAgainstAnIndex());
        add(Rule.V2_RANGE, "coding", codedTwice());
        add(Rule.V4_EXTENT_SUM, "coded", coded().putLong(first + 8, 256).sealed());
        add(Rule.V4_EXTENT_SUM, "ratio", codedTooWell());
        add(Rule.V9_RESERVED, "coding", coded().putInt(first + 28, 1).sealed());
        add(Rule.V9_RESERVED, "reference", coded().putLong(second + 16, FileLayout.DATA_START).sealed());
        add(Rule.V10_INDEX, "coding", coded().putInt(second, 0).sealed());
        Forgery exchanged = coded();
        for (int field = 0; field < 32; field += 8) {
            exchanged.putLong(first + field, file.getLong(second + field))
                    .putLong(second + field, file.getLong(first + field));
        }
        add(Rule.V10_INDEX, "coding-order", exchanged.sealed());
        add(Rule.V10_INDEX, "reference", coded().putShort(first + 6, 1).sealed());
        add(Rule.V13_UNSUPPORTED, "codec", coded().putByte(first + 4, 3).sealed());
        long place = file.getLong(file.at(SectionType.EXTN, 2) + 8);
        int checksum = Checksums.crc32c(MemorySegment.ofArray(coded().putByte(place, 0).sealed()).asSlice(place,
                file.getLong(second + 8)));
        add(Rule.V14_CHECKSUM, "coded", coded().putByte(place + 20, 0).sealed());
        add(Rule.V14_CHECKSUM, "frame", coded().putByte(place, 0).putInt(second + 24, checksum).sealed());
        add(Rule.V14_CHECKSUM, "decoded",
                coded().putByte(second + 4, Coding.DIFFERENCE).putLong(second + 16, FileLayout.DATA_START).sealed());
        add(Rule.V15_STRUCTURE, "width", coded().putByte(first + 5, 3).sealed());
    }

    private static Forgery coded() {
        return new Forgery(Features.coded().toByteArray());
    }

    /// A chunk of zeros in one byte less than there may be.
    private static byte[] codedTooWell() {
        FileImage image = new FileImage();
        image.add(image.putCoded(1, new byte[1 << FileImage.CHUNK_LOG2]));
        image.index().addStorage("cpu");
        Forgery forgery = new Forgery(image.toByteArray());
        return forgery.putLong(forgery.at(SectionType.CODE, 0) + 8, 63).sealed();
    }

    /// Two storages of the same coded bytes, of which one says that these are a difference from zeros.
    private static byte[] codedTwice() {
        FileImage image = new FileImage();
        image.addStorage(new byte[256]);
        ExtentRecord extent = image.putCoded(2, new byte[256]);
        for (int i = 0; i < 2; i++) {
            image.add(extent);
            image.index().addStorage("cpu");
        }
        Forgery twice = new Forgery(image.toByteArray());
        long second = twice.at(SectionType.CODE, 1);
        return twice.putByte(second + 4, Coding.DIFFERENCE).putLong(second + 16, FileLayout.DATA_START).sealed();
    }

    /// The second snapshot has bytes like those of the index of the first.
    private static byte[] codedAgainstAnIndex() {
        byte[] first = Features.shared().toByteArray();
        int index = Math.toIntExact(Refusals.newest(first).indexOffset());
        byte[] reference = Arrays.copyOfRange(first, index, index + 64);
        FileImage next = FileImage.after(first);
        next.add(next.putCoded(1, reference, ExtentRecord.THIS_FILE, index, reference));
        next.index().addStorage("cpu");
        return next.toByteArray();
    }

    private void addWhatIsWrongBetweenSnapshots() {
        byte[] first = Features.shared().toByteArray();
        int index = Math.toIntExact(Refusals.newest(first).indexOffset());
        FileImage onIndex = FileImage.after(first);
        onIndex.addRawExtentAt(index, Arrays.copyOfRange(first, index, index + 64));
        onIndex.index().addStorage("cpu");
        add(Rule.V2_RANGE, "earlier", onIndex.toByteArray());

        byte[] damaged = FileImage.after(first).toByteArray();
        damaged[index + 40] ^= 1;
        add(Rule.V14_CHECKSUM, "earlier", damaged);

        byte[] torn = FileImage.torn(first, 100);
        List<FreeRange> tail = FileImage.tail(torn);
        Arrays.fill(torn, torn.length - 100, torn.length, (byte) 0);
        FileImage withTail = FileImage.after(torn);
        tail.forEach(withTail.index()::addFreeRange);
        FileImage withLess = FileImage.after(withTail.toByteArray());
        withLess.index().addFreeRange(tail.getFirst());
        withLess.index().addFreeRange(new FreeRange(tail.getLast().offset(), 99));
        add(Rule.V19_CHAIN, "free", withLess.toByteArray());

        byte[] three = FileImage.after(FileImage.after(first).toByteArray()).toByteArray();
        long second = Refusals.header(three).recordOffset(2);
        add(Rule.V19_CHAIN, "slot",
                new Forgery(three).putLong(second + 80, 99).sealedPage(second));
    }

    private void addWhatIsWrongElsewhere() {
        FileImage based = new FileImage();
        int base = based.index().addBase(Features.croft("not-there.croft", 0));
        based.index().addBaseExtent(base, FileLayout.DATA_START, 8, Features.sums(new byte[8]));
        based.index().addStorage("cpu");
        add(Rule.V18_BASE, "", based.toByteArray());
        byte[] slotted = Features.shared().toSealedByteArray();
        System.arraycopy(slotted, slotted.length - FileLayout.COMMIT_BYTES, slotted, (int) FileLayout.FIRST_COMMIT,
                FileLayout.COMMIT_BYTES);
        add(Rule.V20_SEAL, "", slotted);
        Shard missing = Shard.of("not-there.croft", Refusals.newest(GOLDEN));
        files.put("v21-shard.croftset", SetManifest.canonical(List.of(missing), Optional.empty()).encode());
        SlicedTensor lacking = SlicedTensor.of("w", new DTypeRecord("float32", 32), new long[]{4}, List.of());
        files.put("v22-slice.croftset",
                SetManifest.canonical(List.of(), Optional.of(SetIndex.of(null, List.of(lacking)))).encode());
    }

    /// Two storages that have some bytes in common, and all checksums right.
    private static byte[] overlapping() {
        FileImage image = new FileImage();
        byte[] bytes = new byte[128];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) i;
        }
        image.addStorage(bytes);
        byte[] half = Arrays.copyOfRange(bytes, 64, 128);
        image.index().addRawExtent(FileLayout.DATA_START + 64, half.length, Features.sums(half));
        image.index().addStorage("cpu");
        return image.toByteArray();
    }

    private static Forgery golden() {
        return new Forgery(GOLDEN);
    }

    private void add(Rule rule, String what, byte[] file) {
        String name = rule.code().toLowerCase(Locale.ROOT) + (what.isEmpty() ? "" : "." + what) + ".croft";
        if (files.put(name, file) != null) {
            throw new IllegalStateException("two files are called " + name);
        }
    }
}
