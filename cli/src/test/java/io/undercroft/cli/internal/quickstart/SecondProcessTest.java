package io.undercroft.cli.internal.quickstart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.mmap.SharedMemoryException;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class SecondProcessTest {
    @Test
    void aFirstProcessThatGoesAwayEndsTheSecondQuietly() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();

        assertThat(run("", out)).isEqualTo(1);

        assertThat(out.toString(StandardCharsets.UTF_8)).isEmpty();
    }

    @Test
    void memoryThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> run("croft-test-nowhere\n", OutputStream.nullOutputStream()))
                .isInstanceOf(SharedMemoryException.class)
                .hasMessageContaining("croft-test-nowhere");
    }

    private static int run(String said, OutputStream out) throws IOException {
        return SecondProcess.run(new BufferedReader(new StringReader(said)), new TextOutput(out));
    }
}
