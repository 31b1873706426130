package io.undercroft.properties;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadmeTest {
    private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

    @TempDir
    Path directory;

    @Test
    void theExampleInTheReadmeCompilesAndPrintsWhatItSays() throws Exception {
        Files.writeString(directory.resolve("Example.java"), example());
        Process java = new ProcessBuilder(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow", "-cp",
                        System.getProperty("java.class.path"), "Example.java"))
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(java.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(java.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(output.lines()).last().isEqualTo("0.5");
        assertThat(java.exitValue()).isZero();
        assertThat(directory.resolve("model.croft")).isRegularFile();
    }

    /// Tests run in the directory of their module; the README is in the one above.
    private static String example() throws IOException {
        Matcher example = EXAMPLE.matcher(Files.readString(Path.of("..", "README.md")));
        assertThat(example.find()).isTrue();
        return example.group(1);
    }
}
