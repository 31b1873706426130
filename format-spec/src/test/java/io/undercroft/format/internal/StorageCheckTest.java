package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import org.junit.jupiter.api.Test;

/// Storage 0 is small. Storage 1 has zeros between its chunks: one chunk, as much of zeros, a chunk and a bit.
class StorageCheckTest {
    private static final int CHUNK = 1 << FileImage.CHUNK_LOG2;
    private static final byte[] RANDOM = random(CHUNK);
    private static final byte[] END = random(CHUNK / 2);

    private final FileImage image = new FileImage();
    private final int int8 = image.index().addDType(new DTypeRecord("int8", 8));
    private final int bits = image.index().addDType(new DTypeRecord("uint4x2", 4));

    StorageCheckTest() {
        image.addStorage((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        image.addRawExtent(4L * CHUNK, RANDOM);
        image.index().addZeroExtent(CHUNK);
        image.addRawExtent(4L * CHUNK, RANDOM);
        image.addRawExtent(4L * CHUNK, END);
        image.index().addStorage("cpu");
    }

    @Test
    void aSoundStorageHasNoDamagedChunk() throws IOException {
        byte[] file = image.toByteArray();
        assertThat(check(file).pass(files(file)).damaged(0)).isEmpty();
        assertThat(check(file).pass(files(file)).damaged(1)).isEmpty();
    }

    @Test
    void damagedChunksAreFoundByTheirPlacesInTheStorageAndInTheFile() throws IOException {
        byte[] file = image.toByteArray();
        file[0x10000 + CHUNK - 1] ^= 1;
        file[(int) FileLayout.DATA_START] ^= 1;
        assertThat(check(file).pass(files(file)).damaged(0))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("checksum")
                .containsExactly(place(0, 0, 4, 0, FileLayout.DATA_START));
        assertThat(check(file).pass(files(file)).damaged(1))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("checksum")
                .containsExactly(place(1, 0, CHUNK, 0, 0x10000));
    }

    @Test
    void extentsOfManyChunksAsEarlierDraftsWroteThemAreCheckedChunkByChunk() throws IOException {
        FileImage draft = new FileImage();
        draft.addStorage(random(3 * CHUNK - 5));
        byte[] file = draft.toByteArray();
        file[(int) FileLayout.MAPPING_ALIGNMENT + 2 * CHUNK] ^= 1;
        assertThat(check(file).pass(files(file)).damaged(0))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("checksum")
                .containsExactly(place(0, 2L * CHUNK, CHUNK - 5, 0, FileLayout.MAPPING_ALIGNMENT + 2L * CHUNK));
    }

    @Test
    void bytesOfFilesThatCannotBeHadAreLeftOut() throws IOException {
        byte[] file = Features.basedOnOthers().toByteArray();
        StorageCheck check = check(file);
        assertThat(check.pass(files(file)).damaged(1)).isEmpty();
        byte[] base = new byte[(int) FileLayout.DATA_START + 64 + 8];
        base[base.length - 1] = 1;
        assertThat(check.pass(number -> Optional.of(ByteSource.of(MemorySegment.ofArray(base)))).damaged(1))
                .usingRecursiveFieldByFieldElementComparatorIgnoringFields("checksum")
                .containsExactly(place(1, 0, 8, 1, FileLayout.DATA_START + 64));
    }

    @Test
    void aFileThatEndsTooEarlyIsNotTakenForDamage() throws IOException {
        byte[] file = image.toByteArray();
        assertThatExceptionOfType(EOFException.class)
                .isThrownBy(() -> check(file).pass(files(Arrays.copyOf(file, 0x10000 + 5))).damaged(1));
    }

    @Test
    void tensorsAreTouchedIfTheirSpanIsWhereverTheirElementsLie() throws IOException {
        addTensor(0, int8, 0, 4, 1);
        int before = addTensor(1, int8, 0, CHUNK, 1);
        int across = addTensor(1, int8, CHUNK - 1, 2, 1);
        int around = addTensor(1, int8, 0, 2, 3L * CHUNK);
        int empty = addTensor(1, int8, CHUNK, 0, 1);
        int reversed = addTensor(1, int8, 2L * CHUNK, 2, -1);
        int packed = addTensor(1, bits, 2L * CHUNK - 1, 3, 1);
        SortedMap<Integer, Span> spans = check(image.toByteArray()).spans(1);
        StorageChunk second = place(1, CHUNK, CHUNK, 0, 0);

        assertThat(spans).containsOnlyKeys(before, across, around, reversed, packed);
        assertThat(spans.keySet().stream().filter(tensor -> second.touches(spans.get(tensor))))
                .containsExactly(across, around, reversed, packed);
        assertThat(spans).containsEntry(before, new Span(0, CHUNK))
                .containsEntry(around, new Span(0, 3L * CHUNK + 1))
                .containsEntry(reversed, new Span(2L * CHUNK - 1, 2L * CHUNK + 1))
                .containsEntry(packed, new Span(2L * CHUNK - 1, 2L * CHUNK + 1));
        assertThat(Span.of(snapshot(image.toByteArray()), empty)).isEmpty();
    }

    private int addTensor(int storage, int dtype, long offset, long size, long stride) {
        Set<TensorFlag> flags = stride < 0 ? EnumSet.of(TensorFlag.REVERSED) : Set.of();
        return image.index().addTensor(
                new TensorRecord(dtype, storage, offset, flags, new long[]{size}, new long[]{stride}));
    }

    private static StorageCheck check(byte[] file) throws IOException {
        return new StorageCheck(snapshot(file));
    }

    private static Snapshot snapshot(byte[] file) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT);
    }

    private static StorageCheck.Files files(byte[] file) {
        return base -> base == ExtentRecord.THIS_FILE
                ? Optional.of(ByteSource.of(MemorySegment.ofArray(file)))
                : Optional.empty();
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    private static StorageChunk place(int storage, long start, long length, int base, long fileOffset) {
        return new StorageChunk(storage, start, length, base, fileOffset, 0, null);
    }
}
