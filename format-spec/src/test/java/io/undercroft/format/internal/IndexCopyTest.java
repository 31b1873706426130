package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/// Snapshots that are written anew, their bytes in other places.
class IndexCopyTest {
    /// Puts the bytes of a snapshot into a new file, each place once, with a page between them.
    private static final class NewFile {
        private final byte[] old;
        private final Snapshot snapshot;
        private final IndexCopy copy;
        private final Map<Long, Long> places = new HashMap<>();
        private byte[] bytes = new byte[(int) FileLayout.DATA_START];

        NewFile(byte[] old) throws IOException {
            this.old = old;
            this.snapshot = open(old);
            this.copy = IndexCopy.of(snapshot);
        }

        NewFile placeAll() {
            for (int number = 0; number < snapshot.extentCount(); number++) {
                ExtentRecord extent = snapshot.extent(number);
                if (extent.kind() != ExtentKind.ZERO && extent.base() == ExtentRecord.THIS_FILE) {
                    copy.place(number, places.computeIfAbsent(extent.fileOffset(), from -> append(
                            Arrays.copyOfRange(old, (int) (long) from, (int) (from + extent.storedLength())))));
                }
                Coding coding = extent.coding();
                if (coding != null && coding.hasReference() && coding.referenceBase() == ExtentRecord.THIS_FILE) {
                    copy.placeReference(number, places.computeIfAbsent(coding.referenceOffset(), from -> append(
                            Arrays.copyOfRange(old, (int) (long) from, (int) (from + extent.length())))));
                }
            }
            return this;
        }

        /// Where the bytes are.
        long append(byte... more) {
            long place = FileLayout.placeExtent(bytes.length + 1L, 1 << FileImage.CHUNK_LOG2, FileImage.CHUNK_LOG2);
            bytes = Arrays.copyOf(bytes, (int) place + more.length);
            FileImage.put(bytes, place, more);
            return place;
        }

        byte[] finish() {
            MemorySegment index = copy.build(1);
            CommitRecord commit = CommitRecord.canonical(index, FileLayout.placeIndex(bytes.length), 0, "");
            byte[] file = Arrays.copyOf(bytes, (int) commit.committedLength());
            FileImage.put(file, 0, Header.of(commit.uuid(), FileImage.CHUNK_LOG2, commit.committedLength()).encode());
            FileImage.put(file, FileLayout.FIRST_COMMIT, commit.encode());
            FileImage.put(file, commit.indexOffset(), index);
            return file;
        }
    }

    @Test
    void whatIsCopiedUnchangedIsTheSameIndex() throws IOException {
        byte[] file = Golden.resource(Golden.FILE);
        Snapshot snapshot = open(file);
        IndexCopy copy = IndexCopy.of(snapshot);
        for (int number = 1; number < snapshot.extentCount(); number++) {
            copy.place(number, snapshot.extent(number).fileOffset());
        }
        assertThat(copy.build(1).mismatch(snapshot.index().bytes())).isEqualTo(-1);
    }

    @Test
    void aCopyHasTheSameContentInOtherPlaces() throws IOException {
        NewFile file = new NewFile(Golden.resource(Golden.FILE)).placeAll();
        Snapshot copy = open(file.finish());

        assertThat(verify(file.finish())).isEmpty();
        assertThat(copy.extent(0)).isEqualTo(file.snapshot.extent(0));
        assertThat(copy.extent(1).fileOffset()).isEqualTo(0x10000);
        assertThat(copy.extent(1).digest()).isEqualTo(file.snapshot.extent(1).digest());
        assertThat(copy.findTensor("model/größe")).isEqualTo(file.snapshot.findTensor("model/größe"));
        assertThat(copy.metadata()).isEqualTo(file.snapshot.metadata());
    }

    @Test
    void recordsKeepTheBytesThatNobodyKnows() throws IOException {
        Set<SectionType> widened = EnumSet.allOf(SectionType.class);
        widened.removeIf(type -> !type.isWidenable());
        byte[] wide = Future.of(Features.everySection().toByteArray(), widened, Future.UNSAFE, Future.SAFE);
        NewFile file = new NewFile(wide).placeAll();
        Snapshot copy = open(file.finish());

        assertThat(copy.faults()).isEmpty();
        for (SectionType type : widened) {
            if (type != SectionType.FREE) {
                assertSameRecords(type, file.snapshot.index(), copy.index());
            }
        }
        assertThat(copy.findTensor("name 999")).isEqualTo(file.snapshot.findTensor("name 999"));
        assertThat(copy.index().count(SectionType.ISUM)).isPositive();
    }

    /// All of each record, but for where its bytes are.
    private static void assertSameRecords(SectionType type, Index old, Index copy) {
        int recordSize = old.recordSize(type);
        assertThat(recordSize).as(type.name()).isEqualTo(type.recordSize() + 8);
        assertThat(copy.recordSize(type)).isEqualTo(recordSize);
        assertThat(copy.count(type)).isPositive().isEqualTo(old.count(type));
        for (long record = 0; record < old.count(type); record++) {
            long start = record * recordSize;
            long from = start + (type == SectionType.EXTN ? 16 : type == SectionType.CODE ? 24 : 0);
            assertSame(old.section(type), copy.section(type), from, start + recordSize);
            if (type == SectionType.CODE) {
                assertSame(old.section(type), copy.section(type), start, start + 16);
            }
        }
    }

    private static void assertSame(MemorySegment old, MemorySegment copy, long from, long to) {
        assertThat(MemorySegment.mismatch(old, from, to, copy, from, to)).as("from %d on", from).isEqualTo(-1);
    }

    @Test
    void onlySectionsThatAreSafeToCopyAreCopied() throws IOException {
        byte[] old = Future.of(Golden.resource(Golden.FILE), Set.of(), Future.UNSAFE, Future.SAFE);
        assertThat(open(old).unknownSections()).extracting(UnknownSection::code).containsExactly("NEXT", "rows");

        NewFile file = new NewFile(old).placeAll();
        assertThat(open(file.finish()).unknownSections()).singleElement().satisfies(section -> {
            assertThat(section.code()).isEqualTo("rows");
            assertThat(section.isSafeToCopy()).isTrue();
            assertThat(section.recordSize()).isEqualTo(3);
            assertThat(section.count()).isEqualTo(1);
            assertThat(section.bytes().mismatch(Future.SAFE.bytes())).isEqualTo(-1);
        });
    }

    @Test
    void whatIsFreeInTheOldFileIsNotInTheNewOne() throws IOException {
        NewFile file = new NewFile(Features.everySection().toByteArray()).placeAll();
        assertThat(file.snapshot.freeRangeCount()).isEqualTo(1);
        assertThat(open(file.finish()).freeRangeCount()).isZero();
    }

    @Test
    void extentsThatWereTheSameBytesMayStayTogetherOrPart() throws IOException {
        NewFile together = new NewFile(Features.shared().toByteArray()).placeAll();
        assertThat(open(together.finish()).extent(0).isShared()).isTrue();
        assertThat(open(together.finish()).extent(1).isShared()).isTrue();
        assertThat(verify(together.finish())).isEmpty();

        NewFile apart = new NewFile(Features.shared().toByteArray());
        apart.copy.place(0, apart.append((byte) 1, (byte) 2, (byte) 3, (byte) 4));
        apart.copy.place(1, apart.append((byte) 1, (byte) 2, (byte) 3, (byte) 4));
        assertThat(open(apart.finish()).extent(0).isShared()).isFalse();
        assertThat(open(apart.finish()).extent(1).isShared()).isFalse();
        assertThat(verify(apart.finish())).isEmpty();
    }

    @Test
    void codedExtentsKeepTheirCodedBytesAndTheirReferencesAreCopied() throws IOException {
        byte[] old = Features.coded().toByteArray();
        NewFile file = new NewFile(old).placeAll();
        Snapshot copy = open(file.finish());

        assertThat(verify(file.finish())).isEmpty();
        for (int extent = 1; extent < copy.extentCount(); extent++) {
            Coding before = file.snapshot.extent(extent).coding();
            Coding after = copy.extent(extent).coding();
            assertThat(after).usingRecursiveComparison().ignoringFields("referenceOffset").isEqualTo(before);
            assertThat(copy.extent(extent).sums()).isEqualTo(file.snapshot.extent(extent).sums());
        }
        assertThat(copy.extent(1).coding().referenceOffset()).isEqualTo(copy.extent(0).fileOffset())
                .isNotEqualTo(file.snapshot.extent(0).fileOffset());
        assertThat(copy.extent(2).coding().referenceOffset()).isZero();
    }

    @Test
    void aReferenceThatWasNotPlacedIsRefused() throws IOException {
        NewFile file = new NewFile(Features.coded().toByteArray());
        for (int extent = 0; extent < file.snapshot.extentCount(); extent++) {
            file.copy.place(extent, FileLayout.DATA_START + 1024L * extent);
        }
        assertThatIllegalStateException().isThrownBy(() -> file.copy.build(1))
                .withMessageContaining("extent 1").withMessageContaining("reference");
        for (int extent : new int[]{0, 2}) {
            assertThatIllegalArgumentException().as("has none")
                    .isThrownBy(() -> file.copy.placeReference(extent, 2048));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> file.copy.placeReference(1, FileLayout.DATA_START - 1));
        file.copy.placeReference(1, FileLayout.DATA_START + 3);
        assertThat(file.copy.build(1).byteSize()).isPositive();
    }

    @Test
    void aReferenceInABaseMayStayThereOrBePlacedLikeAnyBytes() throws IOException {
        NewFile file = new NewFile(Features.everySection().toByteArray()).placeAll();
        Snapshot stayed = open(file.finish());
        assertThat(stayed.faults()).isEmpty();
        assertThat(stayed.extent(3).coding().referenceBase()).isEqualTo(2);
        assertThat(stayed.extent(4).base()).isEqualTo(1);

        file.copy.place(1, file.append(new byte[8]));
        file.copy.place(2, file.append(new byte[5]));
        file.copy.place(4, file.append(new byte[200]));
        Snapshot named = open(file.finish());
        assertThat(named.faults()).isEmpty();
        assertThat(named.baseCount()).as("the reference names one still").isEqualTo(1);
        assertThat(named.extent(3).coding().referenceBase()).isEqualTo(1);
        file.copy.placeReference(3, file.append(new byte[240]));
        assertThat(open(file.finish()).baseCount()).isZero();
        assertThat(open(file.finish()).faults()).isEmpty();
    }

    @Test
    void extentsInBasesMayStayThere() throws IOException {
        NewFile file = new NewFile(Features.basedOnOthers().toByteArray()).placeAll();
        Snapshot copy = open(file.finish());

        assertThat(copy.faults()).isEmpty();
        assertThat(copy.base(0)).isEqualTo(file.snapshot.base(0));
        assertThat(copy.base(1)).isEqualTo(file.snapshot.base(1));
        assertThat(copy.extent(1)).isEqualTo(file.snapshot.extent(1));
        assertThat(copy.extent(2)).isEqualTo(file.snapshot.extent(2));
    }

    @Test
    void basesThatNobodyNamesAreLeftOutAndTheOthersRenumbered() throws IOException {
        NewFile file = new NewFile(Features.basedOnOthers().toByteArray()).placeAll();
        file.copy.place(1, file.append(new byte[8]));
        Snapshot copy = open(file.finish());

        assertThat(copy.faults()).isEmpty();
        assertThat(copy.baseCount()).isEqualTo(1);
        assertThat(copy.base(0)).isEqualTo(file.snapshot.base(1));
        assertThat(copy.extent(1).base()).isEqualTo(ExtentRecord.THIS_FILE);
        assertThat(copy.extent(2).base()).isEqualTo(1);
    }

    @Test
    void aForeignExtentThatIsPlacedIsRawAndNoBaseIsLeft() throws IOException {
        NewFile file = new NewFile(Features.basedOnOthers().toByteArray()).placeAll();
        file.copy.place(1, file.append(new byte[8]));
        file.copy.place(2, file.append(new byte[5]));
        Snapshot copy = open(file.finish());

        assertThat(copy.baseCount()).isZero();
        assertThat(copy.extent(2).kind()).isEqualTo(ExtentKind.RAW);
        assertThat(copy.extent(2).digest()).isEqualTo(file.snapshot.extent(2).digest());
        assertThat(verify(file.finish())).isEmpty();
    }

    @Test
    void foreignExtentsThatAreCutLikeRawOnesBecomeThem() throws IOException {
        NewFile file = new NewFile(foreign(64, 70));
        file.copy.place(0, file.append(new byte[64]));
        file.copy.place(1, file.append(new byte[70]));
        assertThat(verify(file.finish())).isEmpty();
        assertThat(open(file.finish()).baseCount()).isZero();
    }

    @Test
    void aForeignExtentThatIsCutWhereNoRawOneMayBeIsRefused() throws IOException {
        NewFile file = new NewFile(foreign(100, 28, 64));
        for (int extent : new int[]{0, 1}) {
            long place = file.append(new byte[100]);
            assertThatIllegalArgumentException().isThrownBy(() -> file.copy.place(extent, place))
                    .withMessageContaining("multiples of 64");
        }
        file.copy.place(2, file.append(new byte[64]));
        assertThat(open(file.finish()).faults()).isEmpty();
        assertThat(open(file.finish()).extent(2).kind()).isEqualTo(ExtentKind.RAW);
        assertThat(open(file.finish()).extent(1).kind()).isEqualTo(ExtentKind.FOREIGN);
    }

    @Test
    void theLastExtentThatIsNotZerosMayEndAnywhere() throws IOException {
        NewFile file = new NewFile(foreign(64, 30, -34));
        file.copy.place(1, file.append(new byte[30]));
        assertThat(open(file.finish()).faults()).isEmpty();
        assertThat(open(file.finish()).extent(1).kind()).isEqualTo(ExtentKind.RAW);
    }

    /// A file with a storage of FOREIGN extents of these lengths; negative ones are of zeros.
    private static byte[] foreign(int... lengths) {
        FileImage image = new FileImage();
        int base = image.index().addBase(Features.foreign("model.safetensors"));
        int offset = 11;
        for (int length : lengths) {
            if (length < 0) {
                image.index().addZeroExtent(-length);
            } else {
                image.index().addBaseExtent(base, offset, length, Features.sums(new byte[length]));
                offset += length;
            }
        }
        image.index().addStorage("cpu");
        return image.toByteArray();
    }

    @Test
    void whatCannotBePlacedIsRefused() throws IOException {
        NewFile file = new NewFile(Golden.resource(Golden.FILE));

        assertThatIllegalArgumentException().as("zeros").isThrownBy(() -> file.copy.place(0, 0x20000));
        assertThatIllegalArgumentException().as("large").isThrownBy(() -> file.copy.place(1, 0x20040))
                .withMessageContaining("65536");
        assertThatIllegalArgumentException().as("small").isThrownBy(() -> file.copy.place(2, 0x20020));
        assertThatIllegalArgumentException().as("in the first commit record").isThrownBy(() -> file.copy.place(2, 512));
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> file.copy.place(4, 0x20000));
    }

    @Test
    void anExtentThatWasNotPlacedIsRefused() throws IOException {
        IndexCopy copy = IndexCopy.of(open(Golden.resource(Golden.FILE)));
        copy.place(1, 0x20000);
        assertThatIllegalStateException().isThrownBy(() -> copy.build(1)).withMessageContaining("extent 2");
    }

    @Test
    void aBrokenSnapshotIsNotCopied() throws IOException {
        Forgery forgery = new Forgery(Golden.resource(Golden.FILE));
        Snapshot broken = open(forgery.putByte(forgery.at(SectionType.TENS, 0) + 3, 0x80).sealed());
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> IndexCopy.of(broken))
                .extracting(FormatException::code).isEqualTo("V9-RESERVED");
    }
}
