package io.undercroft.properties.tensors;

import io.undercroft.properties.ChainModel;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.state.ActionChain;
import org.junit.jupiter.api.condition.OS;

/// Storages behave as arrays of bytes with a count of references, whatever is done to them in whatever order.
class StorageLawsTest {
    @Provide
    Arbitrary<ActionChain<StorageModel>> storages() {
        return StorageModel.chains().withMaxTransformations(20);
    }

    @Provide
    Arbitrary<ActionChain<FileStorageModel>> files() {
        return FileStorageModel.chains().withMaxTransformations(15);
    }

    @Property(tries = 2000)
    void storagesAreWhatTheModelSays(@ForAll("storages") ActionChain<StorageModel> chain) throws IOException {
        ChainModel.run(chain, StorageModel::check);
    }

    @Property(tries = 1000)
    void storagesOfFilesAreWhatTheModelSays(@ForAll("files") ActionChain<FileStorageModel> chain) throws IOException {
        // A copy-on-write page shows what others write until it is copied on Linux; POSIX leaves it open.
        if (OS.LINUX.isCurrentOs()) {
            ChainModel.run(chain, FileStorageModel::check);
        }
    }
}
