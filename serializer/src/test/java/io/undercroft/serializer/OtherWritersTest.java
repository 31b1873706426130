package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentSums;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.format.internal.IndexBuilder;
import io.undercroft.format.internal.StateTreeWriter;
import io.undercroft.format.internal.TensorFlag;
import io.undercroft.format.internal.TensorRecord;
import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files with what this project's own writer does not write.
class OtherWritersTest {
    private static final int CHUNK_LOG2 = 16;
    private static final byte[] BYTES = {1, 2, 3, 4};

    @TempDir
    private Path folder;

    private final IndexBuilder index = new IndexBuilder(CHUNK_LOG2);
    private final StateTreeWriter tree = new StateTreeWriter();
    private final int int8 = index.addDType(new DTypeRecord("int8", 8));

    @Test
    void storagesThatStandInOnePlaceOfTheFileStayTwo() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(sharing())) {
            Tensor a = checkpoint.tensor("a");
            Tensor b = checkpoint.tensor("b");
            a.storage().set(0, (byte) 9);

            assertThat(a.storage().get(0)).isEqualTo((byte) 9);
            assertThat(b.storage().get(0)).isEqualTo((byte) 1);
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    @Test
    void storagesThatStandInOnePlaceCannotBeWrittenThrough() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(sharing(), OpenOptions.defaults().mapping(MapMode.SHARED))) {
            Tensor a = checkpoint.tensor("a");
            assertThatThrownBy(() -> a.storage().get(0)).isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("in common with another");
        }
    }

    @Test
    void namesThatAreNotThoseOfTheTreeAreFoundInEarlierSnapshotsToo() throws IOException {
        tree.openMap(2);
        addRaw("a");
        tree.writeString("b");
        tree.writeNull();
        index.addName("c", 0);
        Path path = save();
        CroftFile.open(path).commit(Map.of(), SaveOptions.defaults());
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(checkpoint::verify)
                    .extracting(FormatException::code).isEqualTo("V6-NAME");
        }
    }

    private Path sharing() throws IOException {
        tree.openMap(2);
        addRaw("a");
        addRaw("b");
        return save();
    }

    private void addRaw(String name) {
        index.addRawExtent(FileLayout.DATA_START, BYTES.length, sums());
        add(name, Set.of(), 0, 1);
    }

    private void add(String name, Set<TensorFlag> flags, long offset, long stride) {
        int storage = index.addStorage("cpu");
        int tensor = index
                .addTensor(new TensorRecord(int8, storage, offset, flags, new long[]{4}, new long[]{stride}));
        index.addName(name, tensor);
        tree.writeString(name);
        tree.writeTensor(tensor);
    }

    @Test
    void bytesThatStandInAnotherFileAreRefusedWhenTheyAreAskedFor() throws IOException {
        int base = index.addBase(BaseRecord.foreign("model.safetensors", Digest128.ZERO, 100));
        tree.openMap(2);
        addRaw("here");
        index.addBaseExtent(base, 10, BYTES.length, sums());
        add("there", Set.of(), 0, 1);
        try (Checkpoint checkpoint = Checkpoint.open(save())) {
            assertThat(checkpoint.tensor("here").storage().get(3)).isEqualTo((byte) 4);
            Tensor there = checkpoint.tensor("there");
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> there.storage().get(0))
                    .withMessageContaining("model.safetensors").extracting(FormatException::code)
                    .isEqualTo("V18-BASE");
            Verification verified = checkpoint.verify();
            assertThat(verified.damages()).isEmpty();
            assertThat(verified.unverifiedBytes()).isEqualTo(BYTES.length);
            assertThat(verified.missingBases()).extracting(BaseFile::path).containsExactly("model.safetensors");
        }
    }

    @Test
    void tensorsWithNegativeStridesAreRefusedWhenTheyAreAskedFor() throws IOException {
        tree.openMap(2);
        addRaw("straight");
        index.addRawExtent(FileLayout.DATA_START, BYTES.length, sums());
        add("reversed", EnumSet.of(TensorFlag.REVERSED), 3, -1);
        try (Checkpoint checkpoint = Checkpoint.open(save())) {
            assertThat(checkpoint.tensor("straight").storage().get(0)).isEqualTo((byte) 1);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> checkpoint.tensor("reversed"))
                    .extracting(FormatException::code).isEqualTo("V13-UNSUPPORTED");
        }
    }

    private static ExtentSums sums() {
        ExtentDigester digester = new ExtentDigester();
        digester.update(MemorySegment.ofArray(BYTES));
        return digester.finish();
    }

    private Path save() throws IOException {
        index.setTree(tree.toByteArray());
        MemorySegment bytes = index.build(1);
        long offset = FileLayout.placeIndex(FileLayout.DATA_START + BYTES.length);
        CommitRecord commit = CommitRecord.canonical(bytes, offset, 0, "");
        byte[] file = Arrays.copyOf(Header.of(commit.uuid(), CHUNK_LOG2, commit.committedLength()).encode(),
                (int) commit.committedLength());
        System.arraycopy(commit.encode(), 0, file, (int) FileLayout.FIRST_COMMIT, FileLayout.COMMIT_BYTES);
        System.arraycopy(BYTES, 0, file, (int) FileLayout.DATA_START, BYTES.length);
        MemorySegment.ofArray(file).asSlice(offset, bytes.byteSize()).copyFrom(bytes);
        return Files.write(folder.resolve("other.croft"), file);
    }
}
