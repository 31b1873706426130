package io.undercroft.properties.mutants;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/// The texts that planted faults change are in the sources.
class MutantTest {
    @Test
    void everyTextIsInItsSourceOnce() throws IOException {
        assertThat(Mutant.all()).hasSizeGreaterThan(30).extracting(Mutant::fault).doesNotHaveDuplicates();
        for (Mutant mutant : Mutant.all()) {
            assertThat(mutant.sources()).as(mutant.fault()).isNotEmpty();
        }
    }
}
