package io.undercroft.spark;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/// The programs of the pages that use Spark, compiled and run: the last line that each prints is in the comment behind
/// its last `println`.
@ExtendWith(Cluster.class)
class PagesTest {
    private static final Pattern EXAMPLE = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
    private static final Pattern PRINTED = Pattern.compile("println\\(.*?\\); *// ([^\n]*)\n");

    @TempDir
    Path directory;

    private static List<String> programs() throws IOException {
        try (Stream<Path> pages = Files.walk(Path.of("..", "docs"))) {
            return pages.filter(page -> page.toString().endsWith(".md")).map(PagesTest::text)
                    .flatMap(page -> EXAMPLE.matcher(page).results()).map(found -> found.group(1))
                    .filter(program -> program.contains("import org.apache.spark.")).toList();
        }
    }

    private static String text(Path page) {
        try {
            return Files.readString(page, UTF_8);
        } catch (IOException e) {
            throw new AssertionError(page.toString(), e);
        }
    }

    @Test
    void programsPrintWhatTheySay() throws Exception {
        TestFiles.tree(Files.createDirectories(directory.resolve("runs")));
        Path hub = Files.createDirectories(directory.resolve("hub"));
        Files.copy(directory.resolve("runs/sub/b.safetensors"), hub.resolve("b.safetensors"));
        List<String> programs = programs();

        assertThat(programs).isNotEmpty();
        for (String program : programs) {
            String expected = PRINTED.matcher(program).results().map(MatchResult::group).reduce("", (_, line) -> line);
            assertThat(lastLineOf(program.replace("\"/data/", "\"" + directory + "/")))
                    .isEqualTo(expected.substring(expected.lastIndexOf("// ") + "// ".length()).strip());
        }
    }

    private String lastLineOf(String program) throws Exception {
        Path source = Files.writeString(directory.resolve("Example.java"), program);
        Path classes = Files.createDirectories(directory.resolve("classes"));
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", classes.toString(), "-proc:none",
                "-cp", System.getProperty("java.class.path"), source.toString())).as(program).isZero();
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(new URL[]{classes.toUri().toURL()})) {
            System.setOut(new PrintStream(printed, true, UTF_8));
            Class<?> type = loader.loadClass("Example");
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            Method main = type.getDeclaredMethod("main");
            main.setAccessible(true);
            main.invoke(constructor.newInstance());
        } finally {
            System.setOut(before);
        }
        return printed.toString(UTF_8).lines().reduce("", (_, line) -> line);
    }
}
