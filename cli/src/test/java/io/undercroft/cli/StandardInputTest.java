package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("changes the standard input of the process")
class StandardInputTest {
    @TempDir
    Path folder;

    private static Invocation reading(Path file, Object... args) throws IOException {
        InputStream before = System.in;
        try (InputStream in = Files.newInputStream(file)) {
            System.setIn(in);
            return Invocation.of(args);
        } finally {
            System.setIn(before);
        }
    }

    @Test
    void aFileFromAPipeIsShownAsTheFileItself() throws IOException {
        for (Path file : new Path[]{TRAINING, torch("views.legacy.pt"),
                Invocation.FIXTURES.resolve("numpy/deflated.npz"), Invocation.FIXTURES.resolve("gguf/all.gguf")}) {
            Invocation piped = reading(file, "inspect", "-");

            assertThat(piped.err()).isEmpty();
            assertThat(piped.out()).isEqualTo(Invocation.of("inspect", file).out()
                    .replaceFirst("^.*\n", "standard input\n"));
            assertThat(reading(file, "inspect --json --hash", "-").json())
                    .isEqualTo(Invocation.of("inspect --json --hash", file).json());
        }
    }

    @Test
    void otherCommandsReadItToo() throws IOException {
        Path out = folder.resolve("out.croft");
        assertThat(reading(TRAINING, "verify", "-").out()).startsWith("standard input: no damage found (torch-zip");
        assertThat(reading(TRAINING, "convert", "-", out).out()).startsWith("standard input (torch-zip, 1.6 MiB) -> ");
        assertThat(Invocation.of("diff", TRAINING, out).code()).isZero();
        assertThat(reading(out, "diff", TRAINING, "-").out()).contains("B  standard input (croft, snapshot 1)");
        assertThat(reading(out, "extract", "-", Invocation.HEAD, "--rows", ":1").out()).startsWith("tensor([[");
        assertThat(reading(torch("tied.pt"), "append", out, "-").out()).contains("standard input (torch-zip) -> ");
    }

    @Test
    void aPageIsAboutIt() throws IOException {
        Path page = folder.resolve("page.html");

        Invocation made = reading(TRAINING, "inspect", "--html", page, "-");

        assertThat(made.err()).isEmpty();
        assertThat(made.code()).isZero();
        assertThat(Files.readString(page)).contains("\"standard input\"").doesNotContain("\"modified\"", "croft-st");
    }

    @Test
    void messagesNameStandardInput() throws IOException {
        Path text = Files.writeString(folder.resolve("notes.txt"), "hello");
        Path empty = Files.createFile(folder.resolve("empty"));
        for (Path file : new Path[]{text, empty}) {
            Invocation refused = reading(file, "inspect", "-");
            assertThat(refused.code()).isIn(3, 4);
            assertThat(refused.err()).hasLineCount(1).startsWith("croft: standard input: ").doesNotContain("croft-st");
        }
        assertThat(reading(TRAINING, "extract", "-", "none").err()).startsWith("croft: standard input has no tensor");
    }
}
