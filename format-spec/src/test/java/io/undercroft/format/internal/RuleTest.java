package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/// Each rule, broken in a file that is otherwise right: every checksum matches, so it takes the rule to refuse it.
class RuleTest {
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);
    /// In the golden file: extent 0 is ZERO, 1 and 2 and 3 are RAW; storage 3 is empty.
    private final Forgery forgery = new Forgery(GOLDEN);

    @Test
    void v1RefusesNumbersPastTheSignedRange() {
        refused(Rule.V1_ARITHMETIC, forgery.putLong(forgery.at(SectionType.EXTN, 0) + 16, -1).sealed());
    }

    @Test
    void v1RefusesStoragesWhoseBitsCannotBeCounted() {
        refused(Rule.V1_ARITHMETIC, forgery.putLong(forgery.at(SectionType.STOR, 0), 1L << 60).sealed());
    }

    @Test
    void v1RefusesExtentsWhoseSumOverflows() {
        // Extents 0 and 1, both of zeros, make up storage 0.
        forgery.putLong(forgery.at(SectionType.EXTN, 0) + 16, Long.MAX_VALUE & -65536L);
        forgery.putLong(forgery.at(SectionType.EXTN, 1), 1);
        for (int field = 8; field < 40; field += 8) {
            forgery.putLong(forgery.at(SectionType.EXTN, 1) + field, field == 16 ? 65616 : 0);
        }
        refused(Rule.V1_ARITHMETIC, forgery.sealed());
    }

    @Test
    void v1RefusesMoreElementsThanALongCounts() {
        // The transposed view, 3 by 3, becomes 2^32 by 2^32 with strides of 0.
        long dims = forgery.at(SectionType.DIMS, 4);
        forgery.putLong(dims, 1L << 32).putLong(dims + 8, 1L << 32).putLong(dims + 16, 0).putLong(dims + 24, 0);
        refused(Rule.V1_ARITHMETIC, forgery.sealed());
    }

    @Test
    void v2RefusesExtentsOutsideTheData() {
        long offset = forgery.at(SectionType.EXTN, 1) + 8;
        refused(Rule.V2_RANGE, forgery.putLong(offset, 0).sealed());
        refused(Rule.V2_RANGE, forgery.putLong(offset, 1L << 40).sealed());
        refused(Rule.V2_RANGE, forgery.putLong(offset, Long.MAX_VALUE & -65536L).sealed());
    }

    @Test
    void v2RefusesExtentsThatOverlapEachOther() {
        long first = forgery.getLong(forgery.at(SectionType.EXTN, 2) + 8);
        refused(Rule.V2_RANGE, forgery.putLong(forgery.at(SectionType.EXTN, 3) + 8, first).sealed());
    }

    @Test
    void v2RefusesExtentsThatOverlapTheIndex() {
        long inside = forgery.indexOffset() + 64;
        refused(Rule.V2_RANGE, forgery.putLong(forgery.at(SectionType.EXTN, 3) + 8, inside).sealed());
    }

    @Test
    void v2RefusesExtentsThatAreNotAligned() {
        refused(Rule.V2_RANGE, forgery.putLong(forgery.at(SectionType.EXTN, 3) + 8, 0x481).sealed());
    }

    @Test
    void v2RefusesSectionsOutsideTheIndexOrOutOfOrder() {
        refused(Rule.V2_RANGE, new Forgery(GOLDEN).putLong(forgery.entry(SectionType.META) + 16, 1 << 20).sealed());
        refused(Rule.V2_RANGE, new Forgery(GOLDEN).putLong(forgery.entry(SectionType.STOR) + 8, 0x240).sealed());
        refused(Rule.V2_RANGE, new Forgery(GOLDEN).putLong(forgery.entry(SectionType.STOR) + 8, 0x341).sealed());
    }

    @Test
    void v2RefusesAnIndexOutsideTheCommittedBytes() {
        refused(Rule.V2_RANGE, forgery.putLong(forgery.slot() + 16, 0x200).sealedPage(forgery.slot()));
        refused(Rule.V2_RANGE, forgery.putLong(forgery.slot() + 16, 1L << 50).sealedPage(forgery.slot()));
    }

    @Test
    void v2RefusesADataStartInsideThePrefix() {
        refused(Rule.V2_RANGE, new Forgery(GOLDEN).putLong(64, 512).sealedPage(0));
        refused(Rule.V2_RANGE, new Forgery(GOLDEN).putLong(64, 1032).sealedPage(0));
    }

    @Test
    void v2RefusesCommitSlotsWhereOtherBytesAre() {
        for (long slots : new long[]{0, 4096, forgery.indexOffset() & -4096L, 0x20001, Long.MAX_VALUE & -4096L}) {
            refused(Rule.V2_RANGE, new Forgery(GOLDEN).putLong(72, slots).sealedPage(0));
        }
    }

    @Test
    void v2RefusesExtentsAndFreeRangesInTheCommitSlots() {
        byte[] two = FileImage.append(GOLDEN, new IndexBuilder(FileImage.CHUNK_LOG2), "");
        byte[] slot = Refusals.newest(two).encode();
        FileImage onSlot = FileImage.after(two);
        onSlot.addRawExtentAt(Refusals.header(two).slots(), slot);
        onSlot.index().addStorage("cpu");
        refused(Rule.V2_RANGE, onSlot.toByteArray());
        FileImage free = FileImage.after(two);
        free.index().addFreeRange(new FreeRange(Refusals.header(two).slotsEnd() - 1, 1));
        refused(Rule.V2_RANGE, free.toByteArray());
    }

    @Test
    void v3ReportsBytesThatNothingCovers() throws IOException {
        for (long at : new long[]{0x443, 0x3000, 0xFFFF, 0x10050}) {
            assertThat(damages(new Forgery(GOLDEN).putByte(at, 1).sealed())).singleElement()
                    .isEqualTo(new Finding(Rule.V3_GAP, Finding.WHOLE_FILE, Finding.NO_STORAGE, 0, at, 1,
                            "a byte that nothing covers is not zero"));
        }
    }

    @Test
    void v4RefusesExtentsThatDoNotAddUp() {
        refused(Rule.V4_EXTENT_SUM, forgery.putLong(forgery.at(SectionType.STOR, 1), 49).sealed());
    }

    @Test
    void v4RefusesEmptyExtents() {
        refused(Rule.V4_EXTENT_SUM, forgery.putLong(forgery.at(SectionType.EXTN, 0) + 16, 0).sealed());
    }

    @Test
    void v4RefusesStoredExtentsThatAreLongerThanAChunk() {
        forgery.putLong(forgery.at(SectionType.EXTN, 2) + 16, 65_537);
        refused(Rule.V4_EXTENT_SUM, forgery.putLong(forgery.at(SectionType.STOR, 1), 65_537).sealed());
    }

    @Test
    void codedExtentsAreRefusedIfTheirRecordsCannotBe() {
        byte[] file = Features.coded().toByteArray();
        Forgery coded = new Forgery(file);
        long first = coded.at(SectionType.CODE, 0);
        long second = coded.at(SectionType.CODE, 1);
        for (long length : new long[]{0, 256, 257, 1L << 32}) {
            refused(Rule.V4_EXTENT_SUM, new Forgery(file).putLong(first + 8, length).sealed());
        }
        refused(Rule.V1_ARITHMETIC, new Forgery(file).putLong(first + 8, -1).sealed());
        refused(Rule.V1_ARITHMETIC, new Forgery(file).putLong(first + 16, -1).sealed());
        for (int width : new int[]{0, 3, 16, 0x80, 0xFF}) {
            refused(Rule.V15_STRUCTURE, new Forgery(file).putByte(first + 5, width).sealed());
        }
        for (long reference : new long[]{0, 1023, coded.indexOffset() + 4096, Long.MAX_VALUE}) {
            refused(Rule.V2_RANGE, new Forgery(file).putLong(first + 16, reference).sealed());
        }
        refused(Rule.V9_RESERVED, new Forgery(file).putInt(first + 28, 1).sealed());
        refused(Rule.V9_RESERVED, new Forgery(file).putShort(second + 6, 1).sealed());
        refused(Rule.V9_RESERVED, new Forgery(file).putLong(second + 16, 2048).sealed());
        refused(Rule.V10_INDEX, new Forgery(file).putShort(first + 6, 1).sealed());
        refused(Rule.V10_INDEX, new Forgery(file).putInt(first, 0).sealed());
        refused(Rule.V10_INDEX, new Forgery(file).putInt(first, 2).sealed());
        refused(Rule.V10_INDEX, new Forgery(file).putInt(second, 3).sealed());
        refused(Rule.V10_INDEX, new Forgery(file).putInt(second, -1).sealed());
        refused(Rule.V10_INDEX, new Forgery(file).putByte(coded.at(SectionType.EXTN, 0), 3).sealed());
        refused(Rule.V2_RANGE, new Forgery(file).putLong(coded.at(SectionType.EXTN, 1) + 8, 1024 + 256 + 32).sealed());
        refused(Rule.V2_RANGE, new Forgery(file).putLong(coded.at(SectionType.EXTN, 1) + 8, 1024).sealed());
    }

    @Test
    void v10RefusesACodingOfAnExtentThatIsNotCoded() {
        Forgery coded = new Forgery(Features.coded().toByteArray());
        long extent = coded.at(SectionType.EXTN, 2);
        for (int field = 4; field < 40; field += 4) {
            if (field != 16 && field != 20) {
                coded.putInt(extent + field, 0);
            }
        }
        refused(Rule.V10_INDEX, coded.putByte(extent, 1).sealed());
    }

    @Test
    void v2RefusesReferencesInTheCommitSlots() {
        byte[] first = Features.shared().toByteArray();
        byte[] two = FileImage.append(first, new IndexBuilder(FileImage.CHUNK_LOG2), "");
        byte[] slot = Refusals.newest(two).encode();
        FileImage onSlot = FileImage.after(two);
        onSlot.add(onSlot.putCoded(1, slot, ExtentRecord.THIS_FILE, Refusals.header(two).slots(), slot));
        onSlot.index().addStorage("cpu");
        refused(Rule.V2_RANGE, onSlot.toByteArray());
    }

    @Test
    void v5RefusesTensorsThatReachOutsideTheirStorage() {
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(forgery.at(SectionType.TENS, 0) + 8, 4).sealed());
        refused(Rule.V5_STRIDE_RANGE,
                new Forgery(GOLDEN).putByte(forgery.at(SectionType.TENS, 0) + 3, 1 + 16).sealed());
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 0), 4).sealed());
        refused(Rule.V5_STRIDE_RANGE,
                new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 2), Long.MAX_VALUE).sealed());
    }

    @Test
    void v5RefusesTensorsThatStartBetweenTwoElements() {
        long tensor = forgery.at(SectionType.TENS, 0);
        // Of one element, so that it stays inside.
        for (long offset : new long[]{1, 2, 3}) {
            refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 0), 1)
                    .putLong(forgery.at(SectionType.DIMS, 1), 1).putLong(tensor + 8, offset).sealed());
        }
        accepted(new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 0), 1)
                .putLong(forgery.at(SectionType.DIMS, 1), 1).putLong(tensor + 8, 4).sealed());
        // Nor if they are empty.
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 0), 0)
                .putLong(tensor + 8, 2).sealed());
    }

    @Test
    void v5RefusesSubByteTensorsThatAreOneElementTooLong() {
        // 4 elements of 4 bits from bit 4 on need 20 bits; from byte 1 on they still fit into 3 bytes, with 5 they do
        // not.
        long size = forgery.at(SectionType.DIMS, 10);
        assertThat(forgery.getLong(size)).isEqualTo(4);
        accepted(new Forgery(GOLDEN).putLong(size, 5).sealed());
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(size, 6).sealed());
    }

    @Test
    void v5RefusesNegativeSizesAndStrides() {
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 0), -1).sealed());
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 2), -4).sealed());
    }

    @Test
    void v5AcceptsNegativeStridesWhereTheFlagSaysSo() throws IOException {
        // The transposed view, 3 by 3 with strides 1 and 4 from byte 4 on: reversed in its first dimension, from byte
        // 12.
        long tensor = forgery.at(SectionType.TENS, 1);
        Forgery reversed = new Forgery(GOLDEN).putLong(forgery.at(SectionType.DIMS, 6), -1).putByte(tensor + 3, 8);
        TensorRecord record = open(reversed.putLong(tensor + 8, 12).sealed()).tensor(1);
        assertThat(record.flags()).containsExactly(TensorFlag.REVERSED);
        assertThat(record.stride()).containsExactly(-1, 4);
        accepted(reversed.putLong(tensor + 8, 8).sealed());
        refused(Rule.V5_STRIDE_RANGE, reversed.putLong(tensor + 8, 4).sealed());
        refused(Rule.V5_STRIDE_RANGE, reversed.putLong(tensor + 8, 16).sealed());
        refused(Rule.V5_STRIDE_RANGE, new Forgery(GOLDEN).putByte(tensor + 3, 8).sealed());
    }

    @Test
    void v6RefusesNamesThatAreNotUtf8() {
        long text = forgery.at(SectionType.STRB, 0);
        refused(Rule.V6_NAME, forgery.putByte(text + 30, 0xFF).sealed());
    }

    @Test
    void v6RefusesNamesOutOfOrderAndTwice() {
        long first = forgery.at(SectionType.NAMS, 1);
        long second = forgery.at(SectionType.NAMS, 2);
        refused(Rule.V6_NAME, new Forgery(GOLDEN).putLong(second, forgery.getLong(first))
                .putInt(second + 8, (int) forgery.getLong(first + 8)).sealed());
        refused(Rule.V6_NAME, new Forgery(GOLDEN).putLong(first, forgery.getLong(second))
                .putLong(second, forgery.getLong(first)).sealed());
    }

    @Test
    void v7RefusesZerosFarBeyondTheFile() {
        forgery.putLong(forgery.at(SectionType.EXTN, 0) + 16, 1L << 47);
        forgery.putLong(forgery.at(SectionType.STOR, 0), (1L << 47) + 80);
        refused(Rule.V7_EXPANSION, forgery.sealed());
    }

    @Test
    void v8RefusesWhatIsOverEachLimit() {
        refused(Rule.V8_LIMIT, GOLDEN, limit("maxIndexBytes", 100));
        refused(Rule.V8_LIMIT, GOLDEN, limit("maxTensors", 5));
        refused(Rule.V8_LIMIT, GOLDEN, limit("maxRank", 1));
        refused(Rule.V8_LIMIT, GOLDEN, limit("maxSections", 9));
        refused(Rule.V8_LIMIT, GOLDEN, limit("maxDepth", 1));
        refused(Rule.V8_LIMIT, GOLDEN, limit("maxNameBytes", 8));
        refused(Rule.V7_EXPANSION, GOLDEN, limit("maxExpansion", -100_000));
    }

    /// {@return the default limits but for one}
    static Limits limit(String name, long value) {
        RecordComponent[] limits = Limits.class.getRecordComponents();
        try {
            Object[] values = new Object[limits.length];
            Class<?>[] types = new Class<?>[limits.length];
            for (int i = 0; i < limits.length; i++) {
                types[i] = limits[i].getType();
                Object limit = limits[i].getName().equals(name)
                        ? value
                        : limits[i].getAccessor().invoke(Limits.DEFAULT);
                values[i] = types[i] == int.class ? Math.toIntExact(((Number) limit).longValue()) : limit;
            }
            return Limits.class.getDeclaredConstructor(types).newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("Limits is a record", e);
        }
    }

    @Test
    void v9RefusesReservedBytesThatAreNotZero() {
        long[] reserved = {forgery.at(SectionType.EXTN, 1) + 1, forgery.at(SectionType.EXTN, 0) + 4,
                forgery.at(SectionType.EXTN, 0) + 8, forgery.at(SectionType.EXTN, 0) + 24,
                forgery.at(SectionType.TENS, 0) + 3,
                forgery.at(SectionType.STRS, 0) + 12,
                forgery.at(SectionType.DTYP, 0) + 20, forgery.entry(SectionType.TREE) + 40,
                forgery.entry(SectionType.TREE) + 4, forgery.indexOffset() + 28, forgery.at(SectionType.EXTN, 0) - 1,
                forgery.indexOffset() + forgery.getLong(forgery.slot() + 24) - 1};
        for (long at : reserved) {
            refused(Rule.V9_RESERVED, new Forgery(GOLDEN).putByte(at, 0x80).sealed());
        }
        refused(Rule.V9_RESERVED, new Forgery(GOLDEN).putByte(57, 1).sealedPage(0));
        refused(Rule.V9_RESERVED, new Forgery(GOLDEN).putByte(80, 1).sealedPage(0));
        refused(Rule.V9_RESERVED, new Forgery(GOLDEN).putByte(forgery.slot() + 112, 1).sealedPage(forgery.slot()));
    }

    @Test
    void v10RefusesIndexesThatPointNowhere() {
        long[] numbers = {forgery.at(SectionType.TENS, 0), forgery.at(SectionType.TENS, 0) + 4,
                forgery.at(SectionType.TENS, 0) + 20, forgery.at(SectionType.STOR, 0) + 8,
                forgery.at(SectionType.STOR, 0) + 12, forgery.at(SectionType.NAMS, 0) + 12,
                forgery.at(SectionType.NAMS, 0), forgery.at(SectionType.TENS, 0) + 16};
        for (long at : numbers) {
            refused(Rule.V10_INDEX, new Forgery(GOLDEN).putInt(at, 1000).sealed());
        }
    }

    @Test
    void v10RefusesATextThatIsPartlyInTheTree() {
        long strings = forgery.getLong(forgery.entry(SectionType.STRB) + 16);
        long tree = forgery.getLong(forgery.entry(SectionType.TREE) + 16);
        long name = forgery.at(SectionType.NAMS, 1);
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putLong(name, strings - 1).sealed());
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putLong(name, strings + tree - 1).sealed());
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putLong(name, strings + tree + 1).sealed());
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putLong(name, Long.MAX_VALUE).sealed());
    }

    @Test
    void v10RefusesATensorThatClaimsTheNameOfAnother() {
        refused(Rule.V10_INDEX, forgery.putInt(forgery.at(SectionType.TENS, 4) + 20, 1).sealed());
    }

    @Test
    void v10RefusesExtentsThatBelongToNoStorageOrToTwo() {
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putInt(forgery.at(SectionType.STOR, 0) + 8, 1).sealed());
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putInt(forgery.at(SectionType.STOR, 2) + 8, 1).sealed());
        refused(Rule.V10_INDEX, new Forgery(GOLDEN).putInt(forgery.at(SectionType.STOR, 3) + 8, 5).sealed());
    }

    @Test
    void v10RefusesATreeThatNamesWhatIsNotThere() {
        long tree = forgery.at(SectionType.TREE, 0);
        for (byte tag : new byte[]{0x20, 0x21, 0x22, 0x15}) {
            int at = indexOf(tree, tag);
            refused(Rule.V10_INDEX, new Forgery(GOLDEN).putByte(at + 1, 0x77).sealed());
        }
    }

    @Test
    void v11RefusesAFileThatEndsTooSoon() {
        refused(Rule.V11_TRUNCATED, Arrays.copyOf(GOLDEN, GOLDEN.length - 1));
        refused(Rule.V11_TRUNCATED, Arrays.copyOf(GOLDEN, 100));
    }

    @Test
    void v12RefusesOtherFiles() {
        refused(Rule.V12_SIGNATURE, new byte[0]);
        refused(Rule.V12_SIGNATURE, new byte[100_000]);
        refused(Rule.V12_SIGNATURE, "PK".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void v12TellsAFileThatWasTransferredAsText() {
        byte[] text = forgery.putByte(4, '\n').sealed();
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> open(text))
                .withMessageContaining("text mode");
    }

    @Test
    void v13RefusesVersionsFeaturesAndKindsOfTheFuture() {
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putShort(8, 2).sealedPage(0));
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putLong(32, 4).sealedPage(0));
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putLong(forgery.slot() + 88, 4).sealedPage(forgery.slot()));
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putByte(forgery.at(SectionType.EXTN, 1), 9).sealed());
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putInt(forgery.at(SectionType.DTYP, 0) + 16, 32).sealed());
        refused(Rule.V13_UNSUPPORTED, new Forgery(GOLDEN).putInt(forgery.entry(SectionType.META), 0x58585858).sealed());
    }

    @Test
    void featuresThatMayBeIgnoredAreIgnored() {
        accepted(new Forgery(GOLDEN).putShort(10, 7).sealedPage(0));
        accepted(new Forgery(GOLDEN).putLong(40, 2).sealedPage(0));
        accepted(new Forgery(GOLDEN).putLong(48, 1).sealedPage(0));
    }

    @Test
    void v14RefusesBytesThatDoNotMatchTheirChecksum() {
        refused(Rule.V14_CHECKSUM, new Forgery(GOLDEN).putByte(16, 0).sealed());
        refused(Rule.V14_CHECKSUM, new Forgery(GOLDEN).putByte(forgery.at(SectionType.TENS, 1), 1).sealedDirectory());
        refused(Rule.V14_CHECKSUM, new Forgery(GOLDEN).putByte(forgery.entry(SectionType.TENS), 1).sealedPage(0));
        refused(Rule.V14_CHECKSUM, new Forgery(GOLDEN).putInt(forgery.indexOffset() + 4, -1).sealedPage(0));
    }

    @Test
    void v14ReportsTheChunkThatWasHit() throws IOException {
        assertThat(damages(new Forgery(GOLDEN).putByte(0x400, 0).sealed())).singleElement()
                .isEqualTo(
                        new Finding(Rule.V14_CHECKSUM, 1, 1, 0, 0x400, 48, "the checksum of a chunk does not match"));
    }

    @Test
    void v14ReportsADigestWhenOnlyTheChecksumWasForged() throws IOException {
        byte[] forged = new Forgery(GOLDEN).putByte(0x400, 0).sealed();
        MemorySegment extent = MemorySegment.ofArray(forged).asSlice(0x400, 48);
        byte[] twice = new Forgery(forged).putInt(forgery.at(SectionType.EXTN, 2) + 4, Checksums.crc32c(extent))
                .sealed();
        assertThat(damages(twice)).singleElement().isEqualTo(
                new Finding(Rule.V14_CHECKSUM, 1, 1, 0, 0x400, 48, "the digest of an extent does not match"));
    }

    @Test
    void v15RefusesMalformedTables() {
        long tens = forgery.entry(SectionType.TENS);
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putLong(tens + 24, 4).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putInt(tens + 32, 20).putLong(tens + 24, 6).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putInt(tens + 32, 0).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putInt(tens, SectionType.STOR.code()).sealed());
        refused(Rule.V15_STRUCTURE,
                new Forgery(GOLDEN).putInt(tens, 0x58585858).putInt(tens + 4, 0).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putLong(forgery.indexOffset() + 16, 9).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putInt(forgery.at(SectionType.DTYP, 0) + 12, 0).sealed());
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putByte(56, 31).sealedPage(0));
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putInt(12, 8192).sealedPage(0));
        refused(Rule.V15_STRUCTURE, new Forgery(GOLDEN).putInt(forgery.slot() + 4, 8).sealedPage(forgery.slot()));
    }

    @Test
    void v15AcceptsWiderRecordsOfANewerMinorVersion() throws IOException {
        // The two 16-byte records of STRS become one of 32, of which a reader of this version knows the first half.
        long strs = forgery.entry(SectionType.STRS);
        long storage = forgery.at(SectionType.STOR, 0);
        Forgery wider = new Forgery(GOLDEN).putInt(strs + 32, 32).putLong(strs + 24, 1);
        for (int i = 1; i < 4; i++) {
            wider.putInt(storage + 16L * i + 12, 0);
        }
        assertThat(open(wider.sealed()).storage(3).device()).isEqualTo("cuda:0");
    }

    @Test
    void v16RefusesMalformedTrees() {
        long tree = forgery.at(SectionType.TREE, 0);
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(tree, 0).sealed());
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(tree, 0x01).sealed());
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(tree + 1, 6).sealed());
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(tree + 3, 0x7F).sealed());
    }

    @Test
    void v16RefusesMetadataThatIsNotASortedMapOfStrings() {
        long metadata = forgery.at(SectionType.META, 0);
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(metadata, 0x10).sealed());
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(metadata + 2, 0x0A).sealed());
        refused(Rule.V16_TREE, new Forgery(GOLDEN).putByte(metadata + 4, 'z').sealed());
    }

    @Test
    void v17RefusesAFileWithoutACommitOfItsOwn() {
        byte[] uncommitted = GOLDEN.clone();
        Arrays.fill(uncommitted, FileLayout.HEADER_BYTES, FileLayout.PREFIX_BYTES, (byte) 0);
        refused(Rule.V17_COMMIT, uncommitted);
        refused(Rule.V17_COMMIT, new Forgery(GOLDEN).putByte(16, 0).sealedPage(0));
        refused(Rule.V17_COMMIT, new Forgery(GOLDEN).putLong(forgery.slot() + 8, 2).sealedPage(forgery.slot()));
    }

    private int indexOf(long from, byte tag) {
        // The tree is small, and each of these tags is a byte that occurs in it nowhere before.
        for (int at = (int) from;; at++) {
            if (GOLDEN[at] == tag && GOLDEN[at + 1] <= 5) {
                return at;
            }
        }
    }

    private static List<Finding> damages(byte[] file) throws IOException {
        return Verifier.verify(ByteSource.of(MemorySegment.ofArray(file)), open(file), BaseFiles.none()).findings();
    }

    private static Snapshot open(byte[] file) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT);
    }

    private static void accepted(byte[] file) {
        assertThatCode(() -> assertThat(damages(file)).isEmpty()).doesNotThrowAnyException();
    }
}
