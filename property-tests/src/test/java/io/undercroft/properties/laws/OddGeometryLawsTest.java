package io.undercroft.properties.laws;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.formats.Writer;
import io.undercroft.properties.states.OddGeometry;
import java.io.IOException;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// What a writer accepts, every reader accepts; `property-tests/run laws` tries more.
class OddGeometryLawsTest {
    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(60);
    }

    @Property(tries = 150)
    void whatAWriterAcceptsEveryReaderAcceptsAndTheRestIsRefusedByPath(@ForAll("choices") byte[] choices)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            for (Writer writer : Writer.all()) {
                writer.check(OddGeometry.make(choices), scratch);
            }
        }
    }
}
