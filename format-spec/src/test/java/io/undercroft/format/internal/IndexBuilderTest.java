package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;

class IndexBuilderTest {
    private final FileImage image = new FileImage();
    private final IndexBuilder index = image.index();
    private final int float32 = index.addDType(new DTypeRecord("float32", 32));

    @Test
    void anEmptyIndexIsAFileWithNothingInIt() throws IOException {
        Snapshot snapshot = open();

        assertThat(snapshot.storageCount() + snapshot.tensorCount() + snapshot.nameCount()).isZero();
        assertThat(snapshot.tree().next()).isEqualTo(StateToken.NULL);
        assertThat(snapshot.metadata()).isEmpty();
    }

    @Test
    void equalDTypesAndDevicesAreWrittenOnce() throws IOException {
        assertThat(index.addDType(new DTypeRecord("float32", 32))).isEqualTo(float32);
        assertThat(index.addDType(new DTypeRecord("float32", 16))).isNotEqualTo(float32);
        assertThat(open().dtypeCount()).isEqualTo(2);
    }

    @Test
    void namesMayBeAddedInAnyOrder() throws IOException {
        int storage = image.addStorage(new byte[4]);
        for (String name : new String[]{"b", "😀", "a", "\uFFFF", "ab"}) {
            index.addName(name, index.addTensor(scalar(storage, 0)));
        }
        Snapshot snapshot = open();
        // U+FFFF sorts after an emoji in UTF-16 but before it in UTF-8.
        assertThat(snapshot.name(0) + snapshot.name(1) + snapshot.name(2)).isEqualTo("aabb");
        assertThat(snapshot.name(3)).isEqualTo("\uFFFF");
        assertThat(snapshot.findTensor("😀")).isEqualTo(1);
    }

    @Test
    void aTensorOverSeveralExtentsIsOneStorage() throws IOException {
        image.addRawExtent(3 * 65536, new byte[65536]);
        index.addZeroExtent(65536);
        image.addRawExtent(3 * 65536, new byte[65536]);
        int storage = index.addStorage("cpu");
        index.addTensor(new TensorRecord(float32, storage, 0, Set.of(), new long[]{3 * 16384}, new long[]{1}));

        assertThat(open().storage(0)).isEqualTo(new StorageRecord(3 * 65536, 0, 3, "cpu"));
    }

    @Test
    void whatAReaderWouldRefuseIsRefused() {
        int storage = image.addStorage(new byte[4]);
        int tensor = index.addTensor(scalar(storage, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addTensor(scalar(storage, 1)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addTensor(scalar(storage + 1, 0)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("new", tensor + 1));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("x".repeat(4097), tensor));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("\uDC00", tensor));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addDType(new DTypeRecord("none", 0)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addZeroExtent(0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> index.addRawExtent(65536, 65537, new ExtentDigester().finish()));
        assertThatIllegalArgumentException().isThrownBy(() -> index.putMetadata("\uD800", ""));
        assertThatIllegalArgumentException().isThrownBy(() -> new IndexBuilder(10));
    }

    @Test
    void aNameThatIsTakenIsRefused() {
        int tensor = index.addTensor(scalar(image.addStorage(new byte[4]), 0));
        index.addName("b", tensor);
        index.addName("taken", tensor);
        index.addName("taken", tensor);

        assertThatIllegalArgumentException().isThrownBy(() -> index.build(1)).withMessageContaining("'taken'");
    }

    @Test
    void namesOfAnyLengthComeBack() throws IOException {
        int tensor = index.addTensor(scalar(image.addStorage(new byte[4]), 0));
        for (int length = 0; length <= 4096; length += 16) {
            index.addName("x".repeat(length), tensor);
        }
        Snapshot snapshot = open();
        for (int name = 0; name < snapshot.nameCount(); name++) {
            assertThat(snapshot.name(name)).isEqualTo("x".repeat(16 * name));
        }
    }

    @Test
    void aNameThatIsAKeyOfTheTreeIsStoredThereOnly() throws IOException {
        int storage = image.addStorage(new byte[4]);
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(4);
        for (String key : new String[]{"weight", "", "bias", "tied to the bias"}) {
            boolean isTied = key.startsWith("tied");
            int tensor = isTied ? 2 : index.addTensor(scalar(storage, 0));
            index.addName(key, tensor);
            tree.writeString(key);
            tree.writeTensor(tensor);
        }
        index.setTree(tree.toByteArray());
        Snapshot snapshot = open();

        assertThat(texts(snapshot)).isEqualTo("float32cputied to the bias");
        assertThat(snapshot.findTensor("weight")).isZero();
        assertThat(snapshot.findTensor("")).isEqualTo(1);
        assertThat(snapshot.findTensor("bias")).isEqualTo(2);
        assertThat(snapshot.findTensor("tied to the bias")).isEqualTo(2);
        assertThat(snapshot.findTensor("cpu")).isEqualTo(-1);
        assertThat(Refusals.verify(image.toByteArray())).isEmpty();
    }

    @Test
    void aNameThatIsNoKeyOfTheTreeIsStoredAmongTheTexts() throws IOException {
        int storage = image.addStorage(new byte[4]);
        index.addName("layer/weight", index.addTensor(scalar(storage, 0)));
        index.addName("layer/a~1b", index.addTensor(scalar(storage, 0)));
        index.addName("0", index.addTensor(scalar(storage, 0)));
        StateTreeWriter tree = new StateTreeWriter();
        tree.openList(2);
        tree.writeTensor(2);
        tree.openMap(2);
        tree.writeString("weight");
        tree.writeTensor(0);
        tree.writeString("a/b");
        tree.writeTensor(1);
        index.setTree(tree.toByteArray());
        Snapshot snapshot = open();

        assertThat(texts(snapshot)).isEqualTo("float32cpu0layer/a~1blayer/weight");
        assertThat(snapshot.findTensor("layer/weight")).isZero();
        assertThat(snapshot.findTensor("0")).isEqualTo(2);
        assertThat(snapshot.findTensor("weight")).isEqualTo(-1);
    }

    private static String texts(Snapshot snapshot) {
        return new String(snapshot.index().section(SectionType.STRB).toArray(ValueLayout.JAVA_BYTE),
                StandardCharsets.UTF_8);
    }

    @Test
    void moreElementTypesThanTensorsCanNameAreRefused() {
        for (int bits = 1; bits <= Limits.MAX_DTYPES; bits++) {
            index.addDType(new DTypeRecord("float32", bits));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> index.addDType(new DTypeRecord("one more", 8)))
                .withMessageContaining("65536");
    }

    @Test
    void aTensorIsShownByTheNameThatWasAddedFirst() throws IOException {
        int storage = image.addStorage(new byte[4]);
        int first = index.addTensor(scalar(storage, 0));
        int second = index.addTensor(scalar(storage, 0));
        index.addName("m", second);
        index.addName("z", first);
        index.addName("a", first);

        Snapshot snapshot = open();
        assertThat(snapshot.name(snapshot.nameOfTensor(first))).isEqualTo("z");
        assertThat(snapshot.name(snapshot.nameOfTensor(second))).isEqualTo("m");
    }

    @Test
    void unknownSectionsStandBehindTheKnownOnesInTheOrderOfTheirCodes() throws IOException {
        index.addUnknownSection(Future.SAFE);
        index.addUnknownSection(Future.UNSAFE);
        assertThatIllegalArgumentException().isThrownBy(() -> index.addUnknownSection(Future.SAFE));

        assertThat(open().unknownSections()).extracting(UnknownSection::code).containsExactly("NEXT", "rows");
        assertThat(open().unknownSections()).extracting(UnknownSection::isSafeToCopy).containsExactly(false, true);
        assertThat(Refusals.verify(image.toByteArray())).isEmpty();
    }

    @Test
    void sectionsStandInCanonicalOrder() throws IOException {
        FileImage everything = Features.everySection();
        everything.index().addUnknownSection(Future.SAFE);
        everything.index().addUnknownSection(Future.UNSAFE);
        MemorySegment bytes = everything.index().build(1);
        StringBuilder codes = new StringBuilder();
        long end = Records.directory(bytes).byteSize();
        for (long entry = Index.HEAD_BYTES; entry < Records.directory(bytes).byteSize(); entry += Index.ENTRY_BYTES) {
            codes.append(new String(bytes.asSlice(entry, 4).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII));
            assertThat(SectionFields.OFFSET.get(bytes, entry)).isEqualTo((end + 7) / 8 * 8);
            end = SectionFields.OFFSET.get(bytes, entry) + SectionFields.LENGTH.get(bytes, entry);
        }
        assertThat(codes).hasToString("EXTNSTORTENSDIMSNAMSSTRSDTYPSTRBTREEMETABASEFREECODENEXTrowsISUM");
        assertThat(bytes.byteSize()).isEqualTo((end + 7) / 8 * 8);
    }

    @Test
    void dimsStandInTheOrderOfWhatHasThem() throws IOException {
        int storage = image.addStorage((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        index.addTensor(scalar(storage, 0));
        index.addTensor(new TensorRecord(float32, storage, 0, Set.of(), new long[]{1, 1}, new long[]{0, 0}));
        index.addTensor(new TensorRecord(float32, storage, 0, Set.of(), new long[]{1}, new long[]{7}));
        Snapshot snapshot = open();

        assertThat(snapshot.index().count(SectionType.DIMS)).isEqualTo(6);
        assertThat(snapshot.tensor(2).stride()).containsExactly(7);
    }

    @Test
    void tensorsOfTheSameSizesAndStridesHaveThemInCommon() throws IOException {
        int storage = image.addStorage(new byte[64]);
        for (int i = 0; i < 100; i++) {
            index.addTensor(
                    new TensorRecord(float32, storage, 0, Set.of(), new long[]{1, i % 16}, new long[]{i % 16, 1}));
            index.addTensor(new TensorRecord(float32, storage, 0, Set.of(), new long[]{i % 16}, new long[]{1}));
            index.addTensor(scalar(storage, 0));
        }
        Snapshot snapshot = open();

        assertThat(snapshot.index().count(SectionType.DIMS)).isEqualTo(16 * (4 + 2));
        for (int i = 0; i < 100; i++) {
            assertThat(snapshot.tensor(3 * i).shape()).containsExactly(1, i % 16);
            assertThat(snapshot.tensor(3 * i).stride()).containsExactly(i % 16, 1);
            assertThat(snapshot.tensor(3 * i + 1).shape()).containsExactly(i % 16);
            assertThat(snapshot.tensor(3 * i + 2).shape()).isEmpty();
        }
        assertThat(snapshot.faults()).isEmpty();
    }

    @Test
    void storagesBeyondWhatALongCountsAreRefused() {
        for (int storage = 0; storage < 9; storage++) {
            index.addZeroExtent((1L << 60) - 1);
            index.addStorage("meta");
        }
        assertThatIllegalArgumentException().isThrownBy(() -> index.build(1)).withMessageContaining("readers accept");
    }

    @Test
    void storagesFarBeyondTheFileAreRefused() {
        index.addZeroExtent(Limits.DEFAULT.maxExpansion());
        index.addStorage("meta");
        assertThat(index.build(1).byteSize()).isPositive();

        index.addZeroExtent(1);
        index.addStorage("meta");
        assertThatIllegalArgumentException().isThrownBy(() -> index.build(1)).withMessageContaining("readers accept");
    }

    @Test
    void moreSectionsThanReadersAcceptAreRefused() {
        for (int i = 0; i < 250; i++) {
            index.addUnknownSection(
                    new UnknownSection(String.format(Locale.ROOT, "x%03d", i), true, 1, MemorySegment.NULL));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> index.build(1)).withMessageContaining("sections");
    }

    @Test
    void whatCannotBeAnUnknownSectionIsRefused() {
        MemorySegment bytes = MemorySegment.ofArray(new byte[6]);
        assertThatIllegalArgumentException().isThrownBy(() -> new UnknownSection("TENS", true, 1, bytes));
        assertThatIllegalArgumentException().isThrownBy(() -> new UnknownSection("abc", true, 1, bytes));
        assertThatIllegalArgumentException().isThrownBy(() -> new UnknownSection("abc\u0100", true, 1, bytes));
        assertThatIllegalArgumentException().isThrownBy(() -> new UnknownSection("abcd", true, 0, bytes));
        assertThatIllegalArgumentException().isThrownBy(() -> new UnknownSection("abcd", true, 4, bytes));
        assertThat(new UnknownSection("abcd", true, 3, bytes).count()).isEqualTo(2);
    }

    @Test
    void aBuilderMayGoOnAfterAnIndexWasBuilt() throws IOException {
        int storage = image.addStorage(new byte[4]);
        index.addName("b", index.addTensor(scalar(storage, 0)));
        MemorySegment first = index.build(1);
        assertThat(index.build(1).mismatch(first)).isEqualTo(-1);

        index.addName("a", index.addTensor(scalar(storage, 0)));
        assertThat(open().findTensor("a")).isEqualTo(1);
        assertThat(open().findTensor("b")).isZero();
    }

    @Test
    void extentsThatAreNotAlignedAreRefused() {
        index.addZeroExtent(100);
        image.addRawExtent(70_100, new byte[70_000]);

        assertThatIllegalArgumentException().isThrownBy(() -> index.addStorage("cpu"));
    }

    @Test
    void extentsWithoutTheirStorageAreRefused() {
        index.addZeroExtent(100);

        assertThatIllegalStateException().isThrownBy(() -> index.build(1));
    }

    @Test
    void aTreeThatNamesWhatIsNotThereIsRefused() {
        StateTreeWriter tree = new StateTreeWriter();
        tree.writeTensor(0);
        index.setTree(tree.toByteArray());
        assertThatIllegalStateException().isThrownBy(() -> index.build(1)).withMessageContaining("number 0 of 0");

        index.setTree(new byte[]{0x10, 1});
        assertThatIllegalStateException().isThrownBy(() -> index.build(1)).withMessageContaining("1 entries");
    }

    @Test
    void aStorageWhoseBitsCannotBeCountedIsRefused() {
        index.addZeroExtent(1L << 60);
        assertThatIllegalArgumentException().isThrownBy(() -> index.addStorage("cpu"));
    }

    private TensorRecord scalar(int storage, long offset) {
        return new TensorRecord(float32, storage, offset, Set.of(), new long[0], new long[0]);
    }

    private Snapshot open() throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(image.toByteArray())), Limits.DEFAULT);
    }

    @Test
    void codedExtentsThatReadersWouldRefuseAreRefused() throws IOException {
        ExtentSums sums = Features.sums(new byte[256]);
        int croft = index.addBase(Features.croft("first.croft", 0));
        int foreign = index.addBase(Features.foreign("model.safetensors"));
        for (Coding wrong : List.of(new Coding(0, 1, 100, 0, 0, 0), new Coding(3, 1, 100, 0, 0, 0),
                new Coding(1, 0, 100, 0, 0, 0), new Coding(1, 3, 100, 0, 0, 0), new Coding(1, 16, 100, 0, 0, 0),
                new Coding(1, -1, 100, 0, 0, 0), new Coding(1, 1, 0, 0, 0, 0), new Coding(1, 1, 256, 0, 0, 0),
                new Coding(1, 1, -1, 0, 0, 0), new Coding(1, 1, 100, 0, foreign, 0), new Coding(1, 1, 100, 0, 0, 64),
                new Coding(2, 1, 100, 0, 9, 0), new Coding(2, 1, 100, 0, -1, 0),
                new Coding(2, 1, 100, 0, foreign, 1000 - 255), new Coding(2, 1, 100, 0, foreign, -1))) {
            assertThatIllegalArgumentException().as(wrong.toString())
                    .isThrownBy(() -> index.addCodedExtent(0, 1024, 256, sums, wrong));
        }
        Coding right = new Coding(2, 8, 100, 0, foreign, 1000 - 256);
        for (long length : new long[]{0, -1, 65_537, 100, 257}) {
            assertThatIllegalArgumentException().isThrownBy(() -> index.addCodedExtent(0, 1024, length, sums, right));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> index.addCodedExtent(foreign, 0, 256, sums, right));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addCodedExtent(9, 0, 256, sums, right));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> index.addCodedExtent(croft, 200_000 - 64, 256, sums, right));

        index.addCodedExtent(croft, 200_000 - 128, 256, sums, right);
        index.addStorage("cpu");
        assertThat(open().faults()).isEmpty();
        assertThat(open().extent(0).coding()).isEqualTo(right);
        assertThat(open().index().count(SectionType.CODE)).isEqualTo(1);

        index.addCodedExtent(0, 1024 + 32, 256, sums, new Coding(1, 1, 100, 0, 0, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addStorage("cpu")).withMessageContaining("aligned");
    }
}
