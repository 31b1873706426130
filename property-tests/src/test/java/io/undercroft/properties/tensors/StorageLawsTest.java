package io.undercroft.properties.tensors;

import io.undercroft.properties.Choices;
import io.undercroft.properties.Scratch;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import org.junit.jupiter.api.condition.OS;

/// Storages behave as arrays of bytes with a count of references, whatever is done to them in whatever order.
class StorageLawsTest {
    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(150);
    }

    @Property(tries = 2000)
    void storagesAreWhatTheModelSays(@ForAll("choices") byte[] choices) {
        new StorageModel(new Choices(choices)).live();
    }

    @Property(tries = 1000)
    void storagesOfFilesAreWhatTheModelSays(@ForAll("choices") byte[] choices) throws IOException {
        // A copy-on-write page shows what others write until it is copied on Linux; POSIX leaves it open.
        if (OS.LINUX.isCurrentOs()) {
            try (Scratch scratch = Scratch.make()) {
                new FileStorageModel(new Choices(choices), scratch.file("bytes")).live();
            }
        }
    }
}
