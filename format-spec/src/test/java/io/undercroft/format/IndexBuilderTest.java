package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
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
        index.addName("taken", tensor);

        assertThatIllegalArgumentException().isThrownBy(() -> index.addTensor(scalar(storage, 1)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addTensor(scalar(storage + 1, 0)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("taken", tensor));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("new", tensor + 1));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("x".repeat(4097), tensor));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addName("\uDC00", tensor));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addDType(new DTypeRecord("none", 0)));
        assertThatIllegalArgumentException().isThrownBy(() -> index.addZeroExtent(0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> index.addRawExtent(65536, 65537, new ExtentDigester(16).finish()));
        assertThatIllegalArgumentException().isThrownBy(() -> index.putMetadata("\uD800", ""));
        assertThatIllegalArgumentException().isThrownBy(() -> new IndexBuilder(10));
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
}
