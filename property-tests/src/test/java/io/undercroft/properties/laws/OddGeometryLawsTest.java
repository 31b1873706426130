package io.undercroft.properties.laws;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.formats.Writer;
import io.undercroft.properties.states.OddGeometry;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/// A tensor that a writer accepts is accepted by every reader, whatever its geometry. `property-tests/run laws` tries
/// more.
class OddGeometryLawsTest {
    @Provide
    Arbitrary<OddGeometry> states() {
        return OddGeometry.any();
    }

    @Property(tries = 150)
    void whatAWriterAcceptsEveryReaderAcceptsAndTheRestIsRefusedByPath(@ForAll("states") OddGeometry state)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            for (Writer writer : Writer.all()) {
                writer.check(state.make(), scratch);
            }
        }
    }
}
