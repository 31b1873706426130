package io.undercroft.format.internal;

import static io.undercroft.format.internal.Refusals.open;
import static io.undercroft.format.internal.Refusals.refused;
import static io.undercroft.format.internal.Refusals.verify;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/// Bytes of a file that belong to several storages, and bytes that belong to none.
class PlacesTest {
    private static final byte[] SHARED = Features.shared().toByteArray();

    @Test
    void storagesOfEqualBytesMayStandInOnePlaceAndSaySo() throws IOException {
        Snapshot snapshot = open(SHARED);

        assertThat(snapshot.extent(0).isShared()).isTrue();
        assertThat(snapshot.extent(1).isShared()).isTrue();
        assertThat(snapshot.extent(1).fileOffset()).isEqualTo(snapshot.extent(0).fileOffset());
        assertThat(verify(SHARED)).isEmpty();
    }

    @Test
    void v2RefusesAFlagThatIsMissingOrWrong() {
        Forgery forgery = new Forgery(SHARED);
        refused(Rule.V2_RANGE, forgery.putByte(forgery.at(SectionType.EXTN, 1) + 1, 0).sealed());
        byte[] golden = Golden.resource(Golden.FILE);
        Forgery alone = new Forgery(golden);
        refused(Rule.V2_RANGE, alone.putByte(alone.at(SectionType.EXTN, 1) + 1, 1).sealed());
    }

    @Test
    void v2RefusesSharedBytesWithDifferentSums() {
        Forgery forgery = new Forgery(SHARED);
        refused(Rule.V2_RANGE,
                new Forgery(SHARED).putByte(forgery.at(SectionType.EXTN, 1) + 24, 0).sealed());
        refused(Rule.V2_RANGE, new Forgery(SHARED).putInt(forgery.at(SectionType.EXTN, 1) + 4, 0).sealed());
    }

    @Test
    void v2RefusesExtentsThatOverlapInPart() {
        Forgery forgery = new Forgery(SHARED);
        long extent = forgery.at(SectionType.EXTN, 1);
        forgery.putLong(extent + 16, 3).putLong(forgery.at(SectionType.STOR, 1), 3);
        refused(Rule.V2_RANGE, forgery.sealed());
    }

    @Test
    void freeRangesComeBackAndMayHoldAnything() throws IOException {
        byte[] file = withFreeRange();

        assertThat(open(file).freeRangeCount()).isEqualTo(1);
        assertThat(open(file).freeRange(0)).isEqualTo(new FreeRange(FileLayout.DATA_START + 3, 100));
        assertThat(verify(file)).isEmpty();
    }

    @Test
    void v2RefusesFreeRangesOutsideTheDataOrOnOtherBytes() {
        byte[] file = withFreeRange();
        Forgery forgery = new Forgery(file);
        long range = forgery.at(SectionType.FREE, 0);
        for (long offset : new long[]{0, 1L << 40, FileLayout.DATA_START + 2, forgery.indexOffset()}) {
            refused(Rule.V2_RANGE, new Forgery(file).putLong(range, offset).sealed());
        }
        refused(Rule.V2_RANGE, new Forgery(file).putLong(range + 8, 0).sealed());
        refused(Rule.V1_ARITHMETIC, new Forgery(file).putLong(range + 8, -1).sealed());
    }

    @Test
    void v2RefusesFreeRangesThatTouchEachOther() {
        FileImage image = new FileImage();
        image.addFreeRange(10);
        assertThatIllegalArgumentException().isThrownBy(() -> image.addFreeRange(10));
        image.index().addFreeRange(new FreeRange(FileLayout.DATA_START + 20, 10));
        byte[] file = image.toByteArray();
        Forgery forgery = new Forgery(file);
        refused(Rule.V2_RANGE, forgery.putLong(forgery.at(SectionType.FREE, 1), FileLayout.DATA_START + 10).sealed());
    }

    @Test
    void v2RefusesAnExtentOnTheParentRecord() throws IOException {
        IndexBuilder next = new IndexBuilder(FileImage.CHUNK_LOG2);
        byte[] first = Features.shared().toByteArray();
        long parent = Refusals.header(first).slotsEnd();
        next.addRawExtent(parent, 4, Features.sums(Arrays.copyOf(open(first).commit().encode(), 4)));
        next.addStorage("cpu");
        byte[] file = FileImage.append(first, next, "");
        assertThat(open(first).commit().ownOffset()).isEqualTo(open(first).commit().indexOffset());
        refused(Rule.V2_RANGE, file);
    }

    private static byte[] withFreeRange() {
        FileImage image = new FileImage();
        image.addStorage((byte) 1, (byte) 2, (byte) 3);
        image.addFreeRange(100);
        return image.toByteArray();
    }
}
