package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.TruncatedMappingException;
import io.undercroft.serializer.internal.MappedAccess;
import io.undercroft.serializer.spi.TreeContents;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Every storage is released when a checkpoint is closed, whatever becomes of another.
class ReleaseTest {
    /// A minute or more.
    private static final int MOST_COLLECTIONS = 2_000;

    @TempDir
    Path folder;

    private static Allocation fail(String how) {
        switch (how) {
            case "damaged" -> throw new FormatException("DAMAGED", "it is damaged", 0, "Take another");
            case "cut" -> throw new InternalError("a fault in mapped memory");
            default -> throw new OutOfMemoryError("there is none");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"damaged", "cut", "memory"})
    void aRetainedStorageWhoseBytesCannotBeHadKeepsNoOther(String how) {
        Supplier<Allocation> memory = () -> AnonymousMemory.allocator().allocate(4);
        List<Storage> storages = List.of(Storage.deferred(4, memory), Storage.deferred(4, () -> fail(how)),
                Storage.deferred(4, memory), Storage.deferred(4, memory));
        TreeContents contents = TreeContents.of(storages, Map.of(), _ -> List.of());
        storages.get(1).retain();
        storages.get(2).retain();

        contents.release();

        assertThat(storages).extracting(Storage::referenceCount).containsExactly(0, 1, 1, 0);
        assertThat(storages.get(2).segment().byteSize()).isEqualTo(4);
        assertThatThrownBy(() -> storages.get(1).segment()).isInstanceOf(Throwable.class);
    }

    @Test
    void bytesOfAFileThatTurnsOutToBeCutAreReleased() throws IOException {
        Path path = Files.write(folder.resolve("cut"), new byte[1 << 17]);
        MappedFile file = MappedFile.open(path, MapMode.READ_ONLY);
        assertThat(file.map(0, 1 << 17).byteSize()).isEqualTo(1 << 17);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            channel.truncate(1 << 16);
        }

        assertThatThrownBy(() -> MappedAccess.allocated(file, () -> file.allocation(0, 100)))
                .isInstanceOf(TruncatedMappingException.class);

        file.close();
        assertThatThrownBy(file::retain).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void closingACheckpointDoesNotThrowWhatTouchingARetainedStorageDoes() throws IOException {
        Path file = folder.resolve("some.raw");
        // What RawFormat refuses to decode.
        Checkpoint.save(file, Tensor.of((byte) 13).view(DType.UINT8));
        Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().setting("raw.reversed", "yes"));
        Storage storage = c.tensor("bytes").storage().retain();

        c.close();
        c.close();

        assertThat(storage.referenceCount()).isEqualTo(1);
        assertThatThrownBy(storage::segment).isInstanceOf(IllegalStateException.class);
        storage.release();
    }

    /// {@return a storage of a checkpoint that nobody can reach any more}
    private WeakReference<Storage> forgotten(Path file) throws IOException {
        Checkpoint c = Checkpoint.open(file);
        Tensor tensor = c.tensor("bytes");
        assertThat(tensor.getLong(1)).isEqualTo(2);
        return new WeakReference<>(tensor.storage());
    }

    @Test
    void aCheckpointThatNobodyClosesGoesWithTheGarbage() throws Exception {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, Map.of("bytes", Tensor.of(1L, 2L)));

        WeakReference<Storage> storage = forgotten(file);

        for (int i = 0; i < MOST_COLLECTIONS && storage.get() != null; i++) {
            System.gc();
            Thread.sleep(10);
        }
        assertThat(storage.get()).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a.croft", "a.raw"})
    void usingATensorAfterItsCheckpointWasClosedNamesTheFileAndTheCure(String name) throws IOException {
        Path file = folder.resolve(name);
        Tensor bytes = Tensor.of((byte) 1, (byte) 2);
        if (name.endsWith(".raw")) {
            Checkpoint.save(file, bytes.view(DType.UINT8));
        } else {
            Checkpoint.save(file, Map.of("bytes", bytes));
        }
        for (boolean inMemory : new boolean[]{false, true}) {
            Tensor tensor;
            OpenOptions options = OpenOptions.defaults();
            try (Checkpoint c = Checkpoint.open(file, inMemory ? options.inMemory() : options)) {
                tensor = c.tensor("bytes");
                assertThat(tensor.getLong(1)).isEqualTo(2);
            }
            assertThatThrownBy(() -> tensor.getLong(1)).isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll("was freed", file.toString(), "retain()", "copy()");
        }
    }
}
