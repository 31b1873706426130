package io.undercroft.cli.internal.quickstart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.cli.internal.Output;
import io.undercroft.mmap.SharedMemoryException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class PeerSideTest {
    @Test
    void aFirstProcessThatGoesAwayEndsTheSecondQuietly() throws IOException {
        StringWriter out = new StringWriter();

        assertThat(run("", out)).isEqualTo(1);

        assertThat(out.toString()).isEmpty();
    }

    @Test
    void memoryThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> run("croft-test-nowhere\n\n", new StringWriter()))
                .isInstanceOf(SharedMemoryException.class)
                .hasMessageContaining("croft-test-nowhere");
    }

    private static int run(String description, StringWriter out) throws IOException {
        return PeerSide.run(new BufferedReader(new StringReader(description)), new Output(out));
    }
}
