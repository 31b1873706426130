package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.sun.management.ThreadMXBean;
import io.undercroft.format.FormatException;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/// What opening costs, and what it leaves alone.
class OpeningTest {
    @Test
    void openingTakesTwoReads() throws IOException {
        CountingSource source = new CountingSource(Golden.resource(Golden.FILE));
        Snapshot.open(source, Limits.DEFAULT);

        assertThat(source.reads).isEqualTo(2);
    }

    @Test
    void openingAFileOfSeveralSnapshotsTakesThree() throws IOException {
        for (String name : new String[]{"snapshots", "torn"}) {
            CountingSource source = new CountingSource(Golden.resource("golden/" + name + ".croft"));
            Snapshot.open(source, Limits.DEFAULT);
            assertThat(source.reads).isEqualTo(3);
        }
    }

    @Test
    void anIndexThatTheSourceHasInMemoryIsNotRead() throws IOException {
        byte[] file = manyTensors(2000);
        CountingSource read = new CountingSource(file);
        Snapshot.open(read, Limits.DEFAULT);
        ViewedSource viewed = new ViewedSource(file);
        Snapshot.open(viewed, Limits.DEFAULT);

        assertThat(read.reads).isEqualTo(2);
        assertThat(viewed.reads).as("the first pages").isEqualTo(1);
    }

    @Test
    void theEndOfASealedFileIsAnnouncedAndTheIndexOfAnyFile() throws IOException {
        byte[] sealed = manyImage(100).toSealedByteArray();
        AnnouncedSource source = new AnnouncedSource(sealed);
        CommitRecord commit = Snapshot.open(source, Limits.DEFAULT).commit();
        assertThat(source.announced).containsExactly(List.of(0L, (long) sealed.length),
                List.of(commit.indexOffset(), commit.indexLength()));

        AnnouncedSource open = new AnnouncedSource(manyTensors(100));
        commit = Snapshot.open(open, Limits.DEFAULT).commit();
        assertThat(open.announced).containsExactly(List.of(commit.indexOffset(), commit.indexLength()));
    }

    private static final class AnnouncedSource extends CountingSource {
        final List<List<Long>> announced = new ArrayList<>();

        AnnouncedSource(byte[] file) {
            super(file);
        }

        @Override
        public void prepare(long offset, long length) {
            announced.add(List.of(offset, length));
        }
    }

    @Test
    void openingAndASearchAllocateLittleForAnyNumberOfTensors() throws IOException {
        assertThat(allocatedForOpening(2_000)).isLessThan(1 << 17);
        assertThat(allocatedForOpening(50_000)).isLessThan(1 << 17);
    }

    private static long allocatedForOpening(int tensors) throws IOException {
        ByteSource source = ByteSource.of(MemorySegment.ofArray(manyTensors(tensors)));
        openAndFind(source, tensors);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        openAndFind(source, tensors);
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    private static void openAndFind(ByteSource source, int tensors) throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
        assertThat(snapshot.tensorCount()).isEqualTo(tensors);
        assertThat(snapshot.tensor(snapshot.findTensor("model/layer.7")).byteOffset()).isZero();
    }

    @Test
    void aViewedIndexThatIsGoneIsTruncated() {
        ByteSource shrunk = new CountingSource(manyTensors(2000)) {
            @Override
            public Optional<MemorySegment> segment(long offset, long length) throws IOException {
                throw new EOFException();
            }
        };
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Snapshot.open(shrunk, Limits.DEFAULT))
                .extracting(FormatException::code).isEqualTo("V11-TRUNCATED");
    }

    @Test
    void aFileThatShrinksWhileItIsReadIsTruncated() {
        ByteSource shrinking = new ByteSource() {
            @Override
            public long size() {
                return 100_000;
            }

            @Override
            public void read(long offset, MemorySegment into) throws IOException {
                throw new EOFException();
            }
        };
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Snapshot.open(shrinking, Limits.DEFAULT))
                .extracting(FormatException::code).isEqualTo("V11-TRUNCATED");
    }

    private static final class ViewedSource extends CountingSource {
        ViewedSource(byte[] file) {
            super(file);
        }

        @Override
        public Optional<MemorySegment> segment(long offset, long length) throws IOException {
            return source.segment(offset, length);
        }
    }

    private static class CountingSource implements ByteSource {
        final ByteSource source;
        int reads;

        CountingSource(byte[] file) {
            this.source = ByteSource.of(MemorySegment.ofArray(file));
        }

        @Override
        public long size() throws IOException {
            return source.size();
        }

        @Override
        public void read(long offset, MemorySegment into) throws IOException {
            reads++;
            source.read(offset, into);
        }
    }

    static byte[] manyTensors(int count) {
        return manyImage(count).toByteArray();
    }

    private static FileImage manyImage(int count) {
        FileImage image = new FileImage();
        int dtype = image.index().addDType(new DTypeRecord("float32", 32));
        int storage = image.addStorage(new byte[64]);
        for (int i = 0; i < count; i++) {
            TensorRecord tensor = new TensorRecord(dtype, storage, 0, Set.of(), new long[]{4, 4}, new long[]{4, 1});
            image.index().addName("model/layer." + i, image.index().addTensor(tensor));
        }
        return image;
    }
}
