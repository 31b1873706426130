package io.undercroft.neighbours;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
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
            BytesStore<?, Void> store = BytesStores.lend(w.storage());
            assertThat(store.addressForRead(0)).isEqualTo(w.dataPtr());
            assertThat(store.capacity()).isEqualTo(w.nbytes());
            w.setDouble(42, 1);
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
            store = BytesStores.lend(storage);
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
        Storage storage = BytesStores.storage(store);
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
        Storage storage = BytesStores.storage(bytes);
        assertThat(storage.get(0)).isEqualTo((byte) 42);
        bytes.ensureCapacity(1 << 20);
        assertThat(storage.get(0)).isEqualTo((byte) 42);
        storage.release();
        bytes.releaseLast();
    }

    @Test
    void aStoreOnTheHeapIsRefused() {
        assertThatThrownBy(() -> BytesStores.storage(BytesStore.wrap(new byte[8])))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("on the heap");
    }

    @Test
    void anEmptyStorageIsRefused() {
        assertThatThrownBy(() -> BytesStores.lend(Storage.allocate(0))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no bytes to show");
    }
}
