package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.PointerBytesStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BytesStoresTest {
    @TempDir
    private Path folder;

    @Test
    void aStoreShowsAStorageOfAMappedFile() throws IOException {
        Path file = folder.resolve("model.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3)));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Tensor w = checkpoint.tensor("w");
            BytesStore<?, Void> store = BytesStores.wrap(w.storage());
            assertThat(store.addressForRead(0)).isEqualTo(w.dataPtr());
            assertThat(store.capacity()).isEqualTo(w.nbytes());
            w.setDouble(1, 42);
            store.writeFloat(8, 43);
            assertThat(store.readFloat(4)).isEqualTo(42);
            assertThat(w.getFloat(2)).isEqualTo(43);
            store.releaseLast();
        }
    }

    @Test
    void theStorageIsHeldUntilTheLastRelease() throws IOException, InterruptedException {
        Path file = folder.resolve("held.croft");
        Checkpoint.save(file, Map.of("w", Tensor.of(1f, 2, 3)));
        Storage storage;
        BytesStore<?, Void> store;
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            storage = checkpoint.tensor("w").storage();
            store = BytesStores.wrap(storage);
        }
        assertThat(store.readFloat(8)).isEqualTo(3);
        store.releaseLast();
        for (int i = 0; i < 1000 && storage.referenceCount() > 0; i++) {
            Thread.sleep(10);
        }
        assertThat(storage.referenceCount()).isZero();
    }

    @Test
    void aStoreOffTheHeapIsAStorageThatKeepsIt() {
        BytesStore<?, Void> store = BytesStore.nativeStoreWithFixedCapacity(16);
        Storage storage = BytesStores.asStorage(store);
        store.writeByte(3, (byte) 42);
        storage.set(4, (byte) 43);
        assertThat(storage.nbytes()).isEqualTo(16);
        assertThat(storage.get(3)).isEqualTo((byte) 42);
        assertThat(store.readByte(4)).isEqualTo((byte) 43);
        assertThat(store.refCount()).isEqualTo(2);
        storage.release();
        assertThat(store.refCount()).isEqualTo(1);
        store.releaseLast();
    }

    @Test
    void anElasticStoreIsShownAsItIsNow() {
        Bytes<?> bytes = Bytes.allocateElasticDirect(8);
        bytes.writeLong(42);
        Storage storage = BytesStores.asStorage(bytes);
        assertThat(storage.get(0)).isEqualTo((byte) 42);
        bytes.ensureCapacity(1 << 20);
        assertThat(storage.get(0)).isEqualTo((byte) 42);
        storage.release();
        bytes.releaseLast();
    }

    @Test
    void readOnlyMemoryIsAReadOnlyStorage() throws IOException {
        Path file = Files.write(folder.resolve("bytes"), new byte[]{1, 2, 3});
        try (FileChannel channel = FileChannel.open(file)) {
            Storage mapped = BytesStores.asStorage(BytesStore.wrap(channel.map(MapMode.READ_ONLY, 0, 3)));
            assertThat(mapped.toList()).containsExactly(1, 2, 3);
            assertThatThrownBy(() -> mapped.set(0, (byte) 9)).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> BytesStores.wrap(mapped)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("read-only");
        }
        Storage refusing = BytesStores.asStorage(new Chunk(Storage.allocate(8), 0));
        assertThat(refusing.get(7)).isZero();
        assertThatThrownBy(() -> refusing.set(0, (byte) 9)).isInstanceOf(UnsupportedOperationException.class);
    }

    /// As the second chunk of a file is to Chronicle, which needs a library for mapped files that is not here.
    @Test
    void aChunkOfAFileIsShownAsFarAsItGoes() {
        Storage memory = Storage.copyOf((byte) 1, (byte) 2, (byte) 3, (byte) 4);
        Storage chunk = BytesStores.asStorage(new Chunk(memory, 65_536));
        assertThat(chunk.toList()).containsExactly(1, 2, 3, 4);
    }

    /// Memory that begins somewhere in a file and refuses to be written.
    private static final class Chunk extends PointerBytesStore {
        private final Storage storage;
        private final long first;

        Chunk(Storage storage, long first) {
            this.storage = storage;
            this.first = first;
            set(storage.segment().address(), storage.nbytes());
        }

        @Override
        public long start() {
            return first;
        }

        @Override
        public long realCapacity() {
            return first + storage.nbytes();
        }

        @Override
        public long addressForRead(long offset) {
            return storage.segment().address() + offset - first;
        }

        @Override
        public PointerBytesStore write(long offset, byte[] bytes, int from, int length) {
            throw new IllegalStateException("Read Only");
        }
    }

    @Test
    void aStorageMayBeReleasedByAnotherThread() throws InterruptedException {
        BytesStore<?, Void> store = BytesStore.nativeStoreWithFixedCapacity(16);
        Bytes<?> elastic = Bytes.allocateElasticDirect(16);
        elastic.writeLong(42);
        List<Storage> storages = List.of(BytesStores.asStorage(store), BytesStores.asStorage(elastic));
        Thread other = Thread.ofPlatform().start(() -> storages.forEach(Storage::release));
        other.join();
        assertThat(store.refCount()).isEqualTo(1);
        assertThat(elastic.bytesStore().refCount()).isEqualTo(1);
        store.releaseLast();
        elastic.releaseLast();
    }

    @Test
    void aStoreWithoutMemoryIsRefused() {
        Bytes<?> untouched = Bytes.allocateElasticDirect();
        assertThatThrownBy(() -> BytesStores.asStorage(untouched)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("write to it first");
        BytesStore<?, Void> released = BytesStore.nativeStoreWithFixedCapacity(16);
        released.releaseLast();
        assertThatThrownBy(() -> BytesStores.asStorage(released)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aStoreOnTheHeapIsRefused() {
        assertThatThrownBy(() -> BytesStores.asStorage(BytesStore.wrap(new byte[8])))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("on the heap");
    }

    @Test
    void anEmptyStorageIsRefused() {
        assertThatThrownBy(() -> BytesStores.wrap(Storage.allocate(0))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("there are no bytes");
    }
}
