package io.undercroft.properties.processes;

import io.undercroft.properties.Choices;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import org.junit.jupiter.api.condition.OS;

/// Names of shared memory last as their lifetimes say, whatever is done to them in whatever order; looked at in
/// `/dev/shm`, so on Linux only.
class SharedMemoryLawsTest {
    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(200);
    }

    @Property(tries = 1000)
    void namesLastAsTheModelSays(@ForAll("choices") byte[] choices) throws IOException {
        if (!OS.LINUX.isCurrentOs()) {
            return;
        }
        try (SharedMemoryModel model = new SharedMemoryModel(new Choices(choices))) {
            model.live();
        }
    }
}
