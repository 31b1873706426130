package io.undercroft.properties.tensors;

import io.undercroft.properties.Choices;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

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
}
