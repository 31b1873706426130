package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.accepted;
import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.refused;
import static io.undercroft.format.internal.RuleTest.limit;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.LittleEndian;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// The last value that a rule lets pass, the first that it refuses, and the field that it says is wrong.
class BoundariesTest {
    private static final byte[] EVERY_SECTION = Features.everySection().toByteArray();
    private static final byte[] GOLDEN = Golden.resource(Golden.FILE);
    private static final UUID OTHER = new UUID(1, 2);
    private static final Digest128 NONE = new Digest128(0, 0);

    @ParameterizedTest
    @CsvSource({"STOR, 12, 4, STRS", "TENS, 0, 2, DTYP", "TENS, 4, 4, STOR", "TENS, 20, 4, NAMS", "NAMS, 12, 4, TENS",
            "CODE, 0, 4, EXTN"})
    void theRecordAfterTheLastIsNotThere(SectionType type, int field, int width, SectionType target)
            throws IOException {
        long count = open(EVERY_SECTION).index().count(target);

        refused(Rule.V10_INDEX, withNumber(type, field, width, count));
        refused(Rule.V10_INDEX, withNumber(type, field, width, width == 2 ? 0xFFFF : 0xFFFF_FFFEL));
    }

    @Test
    void basesAreCountedFromOne() throws IOException {
        long bases = open(EVERY_SECTION).index().count(SectionType.BASE);
        Forgery forgery = new Forgery(EVERY_SECTION);

        refused(Rule.V10_INDEX,
                forgery.putShort(forgery.at(SectionType.EXTN, 1) + 2, (int) bases + 1).sealed());
    }

    /// The file with a number in the first record of a table.
    private static byte[] withNumber(SectionType type, int field, int width, long number) {
        Forgery forgery = new Forgery(EVERY_SECTION);
        long at = forgery.at(type, 0) + field;
        return (width == 2 ? forgery.putShort(at, (int) number) : forgery.putInt(at, (int) number)).sealed();
    }

    @Test
    void whatIsAtALimitIsReadAndWhatIsOneOverItIsRefused() throws IOException {
        FileImage deep = new FileImage();
        int base = deep.index().addBase(Features.croft("b.croft", 3));
        deep.index().addBaseExtent(base, FileLayout.DATA_START, 8, Features.sums(new byte[8]));
        deep.index().addStorage("cpu");
        isTheMost("maxBaseDepth", 3, deep.toByteArray());
        isTheMost("maxRank", 2, GOLDEN);
        isTheMost("maxSections", 10, GOLDEN);
        isTheMost("maxTensors", open(EVERY_SECTION).tensorCount(), EVERY_SECTION);
        isTheMost("maxBases", 2, EVERY_SECTION);
        isTheMost("maxNameBytes", "models/first.croft".length(), EVERY_SECTION);
    }

    private static void isTheMost(String name, long value, byte[] file) throws IOException {
        accepted(file, limit(name, value));
        refused(Rule.V8_LIMIT, file, limit(name, value - 1));
    }

    @Test
    void aCommitRecordIsRefusedAtTheFieldThatIsWrong() {
        CommitRecord good = Refusals.newest(GOLDEN);
        Header header = Refusals.header(GOLDEN);
        long size = GOLDEN.length;
        long place = header.recordOffset(good.sequence());
        long end = good.committedLength() - good.indexOffset();
        good.check(header, place, size);

        isRefused(Rule.V17_COMMIT, place + 8, () -> with(good, 0, 0, end, good.uuid(), 0).check(header, place, size));
        isRefused(Rule.V17_COMMIT, place + 8,
                () -> with(good, 0, 0, end, good.uuid(), 0).checkFound(header, place, size));
        isRefused(Rule.V17_COMMIT, place + 48, () -> with(good, 1, 0, end, OTHER, 0).check(header, place, size));
        isRefused(Rule.V17_COMMIT, place + 48, () -> with(good, 1, 0, end, OTHER, 0).checkFound(header, place, size));
        isRefused(Rule.V2_RANGE, place + 16, () -> with(good, 1, 1, end, good.uuid(), 0).check(header, place, size));
        isRefused(Rule.V2_RANGE, place + 16,
                () -> with(good, 1, 0, end + 1, good.uuid(), 0).checkFound(header, place, size));
        isRefused(Rule.V2_RANGE, place + 16, () -> with(good, 1, FileLayout.DATA_START - 64 - good.indexOffset(), 0,
                good.uuid(), 0).check(header, place, size));
        isRefused(Rule.V19_CHAIN, place + 72, () -> with(good, 1, 0, end, good.uuid(), 64).check(header, place, size));
        isRefused(Rule.V11_TRUNCATED, size - 1, () -> good.check(header, place, size - 1));
        isRefused(Rule.V11_TRUNCATED, size - 1, () -> good.checkFound(header, place, size - 1));
    }

    /// A record with some fields changed.
    private static CommitRecord with(CommitRecord record, long sequence, long fartherIndex, long indexLength, UUID uuid,
            long previousRecord) {
        return new CommitRecord(sequence, record.indexOffset() + fartherIndex, indexLength, record.directoryDigest(),
                uuid, record.committedLength(), previousRecord, record.timeMillis(), record.requiredFeatures(),
                record.rootDigest(), record.message());
    }

    @Test
    void aLaterCommitKeepsApartFromTheSlots() {
        long slots = 8192;
        long slotsEnd = slots + FileLayout.SLOTS_BYTES;
        Header header = new Header(0, OTHER, 0, 0, 0, 16, FileLayout.DATA_START, slots);
        long parent = FileLayout.DATA_START;
        long index = parent + FileLayout.COMMIT_BYTES;
        long place = header.recordOffset(2);

        later(parent, index, slots - index, slotsEnd).check(header, place, slotsEnd);
        isRefused(Rule.V2_RANGE, place + 64,
                () -> later(parent, index, slots - index + 1, slotsEnd).check(header, place, slotsEnd));
        isRefused(Rule.V2_RANGE, place + 64,
                () -> later(parent, index, slots - index, slotsEnd - 1).check(header, place, slotsEnd));
        isRefused(Rule.V19_CHAIN, place + 72,
                () -> later(parent - 64, index - 64, 64, slotsEnd).check(header, place, slotsEnd));
    }

    @Test
    void aParentRecordIsThatOfTheCommitBefore() {
        long slots = 8192;
        Header header = new Header(0, OTHER, 0, 0, 0, 16, FileLayout.DATA_START, slots);
        long after = slots + FileLayout.SLOTS_BYTES;
        CommitRecord next = new CommitRecord(3, after + FileLayout.COMMIT_BYTES + 64, 64, NONE, OTHER,
                after + FileLayout.COMMIT_BYTES + 128, after + 64, 0, 0, NONE, "");
        long index = FileLayout.DATA_START + FileLayout.COMMIT_BYTES;
        CommitRecord parent = later(FileLayout.DATA_START, index, 64, next.previousRecord());

        parent.checkParent(header, next);
        isRefused(Rule.V19_CHAIN, next.previousRecord(),
                () -> later(FileLayout.DATA_START, index, 64, next.previousRecord() + 1).checkParent(header, next));
        isRefused(Rule.V19_CHAIN, next.previousRecord(),
                () -> with(parent, 3, 0, 64, OTHER, FileLayout.DATA_START).checkParent(header, next));
        isRefused(Rule.V2_RANGE, next.previousRecord() + 16,
                () -> with(parent, 2, 1, 64, OTHER, FileLayout.DATA_START).checkParent(header, next));
    }

    private static CommitRecord later(long parent, long index, long length, long committedLength) {
        return new CommitRecord(2, index, length, NONE, OTHER, committedLength, parent, 0, 0, NONE,
                "");
    }

    @Test
    void theBytesOfACommitRecordAreReadAsTheyWereWritten() {
        CommitRecord record = new CommitRecord(2, 64, 65, new Digest128(1, 2), OTHER, 66, 67, 68, 0,
                new Digest128(3, 4), "why");
        long place = 4096;

        assertThat(CommitRecord.decode(MemorySegment.ofArray(record.encode()), place)).isEqualTo(record);
        CommitRecord future = new CommitRecord(2, 64, 65, new Digest128(1, 2), OTHER, 66, 67, 68, 1,
                new Digest128(3, 4), "why");
        isRefused(Rule.V13_UNSUPPORTED, place + 88,
                () -> CommitRecord.decode(MemorySegment.ofArray(future.encode()), place));
        isRefused(Rule.V15_STRUCTURE, place + 4, () -> decoded(record, 4, 1, place));
        isRefused(Rule.V15_STRUCTURE, place + 112, () -> decoded(record, 112, 509, place));
        isRefused(Rule.V6_NAME, place + 116, () -> decoded(record, 116, 0xFF, place));
        isRefused(Rule.V14_CHECKSUM, place, () -> decoded(record, 0, 0, place));
    }

    /// Reads a record with a number in it and a checksum that is right.
    private static CommitRecord decoded(CommitRecord record, int at, int number, long place) {
        MemorySegment page = MemorySegment.ofArray(record.encode());
        LittleEndian.putInt(page, at, number);
        sum(page);
        return CommitRecord.decode(page, place);
    }

    /// Makes the checksum at the end of a page right.
    private static void sum(MemorySegment page) {
        long end = page.byteSize() - Integer.BYTES;
        LittleEndian.putInt(page, end, Checksums.crc32c(page.asSlice(0, end)));
    }

    @Test
    void theBytesOfAHeaderAreReadAsTheyWereWritten() {
        for (int chunkLog2 : new int[]{16, 30}) {
            Header header = new Header(3, OTHER, 0, 4, 5, chunkLog2, 2048, 4096);
            assertThat(decoded(header)).isEqualTo(header);
        }
        Header tight = new Header(0, OTHER, 0, 0, 0, 16, 4096, 4096);
        assertThat(decoded(tight)).isEqualTo(tight);
        isRefused(Rule.V13_UNSUPPORTED, 32, () -> decoded(new Header(0, OTHER, 1, 0, 0, 16, 1024, 4096)));
        isRefused(Rule.V15_STRUCTURE, 56, () -> decoded(new Header(0, OTHER, 0, 0, 0, 15, 1024, 4096)));
        isRefused(Rule.V15_STRUCTURE, 56, () -> decoded(new Header(0, OTHER, 0, 0, 0, 31, 1024, 4096)));
        isRefused(Rule.V2_RANGE, 64, () -> decoded(new Header(0, OTHER, 0, 0, 0, 16, 1088 - 32, 4096)));
        isRefused(Rule.V2_RANGE, 72, () -> decoded(new Header(0, OTHER, 0, 0, 0, 16, 4160, 4096)));
        isRefused(Rule.V2_RANGE, 72, () -> decoded(new Header(0, OTHER, 0, Header.SEALED, 0, 16, 1024, 4096)));
        isRefused(Rule.V2_RANGE, 72,
                () -> decoded(new Header(0, OTHER, 0, 0, 0, 16, 1024, Long.MAX_VALUE & -FileLayout.PAGE)));
    }

    private static Header decoded(Header header) {
        return Header.decode(MemorySegment.ofArray(header.encode()));
    }

    @Test
    void theSignatureIsComparedWhateverFollowsIt() {
        byte[] other = new Header(0, OTHER, 0, 0, 0, 16, 1024, 4096).encode();
        other[0]++;
        MemorySegment page = MemorySegment.ofArray(other);
        sum(page);

        isRefused(Rule.V12_SIGNATURE, 0, () -> Header.decode(page));
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Header.checkSignature(page.asSlice(0, 4)))
                .withMessageContaining("text mode");
        assertThat(Header.isSignature(MemorySegment.ofArray(GOLDEN).asSlice(0, 8))).isTrue();
        assertThat(Header.isSignature(MemorySegment.ofArray(GOLDEN).asSlice(0, 7))).isFalse();
    }

    private static void isRefused(Rule rule, long offset, ThrowingCallable reading) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(reading).satisfies(
                e -> assertThat(List.of(e.code(), e.offset())).isEqualTo(List.of(rule.code(), offset)));
    }
}
