package io.undercroft.properties.processes;

import io.undercroft.properties.ChainModel;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.state.ActionChain;
import org.junit.jupiter.api.condition.OS;

/// Names of shared memory last as long as their lifetimes say, whatever is done to them in whatever order. Looked at in
/// `/dev/shm`, so on Linux only.
class SharedMemoryLawsTest {
    @Provide
    Arbitrary<ActionChain<SharedMemoryModel>> chains() {
        return SharedMemoryModel.chains().withMaxTransformations(30);
    }

    @Property(tries = 1000)
    void namesLastAsTheModelSays(@ForAll("chains") ActionChain<SharedMemoryModel> chain) throws IOException {
        if (OS.LINUX.isCurrentOs()) {
            ChainModel.run(chain, SharedMemoryModel::check);
        }
    }
}
