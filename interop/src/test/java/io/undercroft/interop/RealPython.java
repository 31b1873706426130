package io.undercroft.interop;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.DynamicTest;

/// A Python that has the real libraries: the one that the environment variable `UNDERCROFT_PYTHON` names. Tests that
/// need it are skipped where there is none.
public final class RealPython {
    private final String program;
    private final String versions;

    private RealPython(String program, String versions) {
        this.program = program;
        this.versions = versions;
    }

    /// What a test does with it.
    public interface Body {
        void run(RealPython python) throws Exception;
    }

    /// {@return the Python, if it has these packages; else the test is skipped}
    public static RealPython with(String... packages) {
        String program = System.getenv("UNDERCROFT_PYTHON");
        assumeTrue(program != null, "UNDERCROFT_PYTHON names no Python");
        // A package may be part of a distribution that is called otherwise: cv2, for instance.
        String script = Arrays.stream(packages).map(name -> "import " + name + "; d = names['" + name
                + "'][0]; v.append(d + ' ' + importlib.metadata.version(d))").collect(Collectors.joining("\n"));
        try {
            Answer answer = answer(program, "import importlib.metadata\nv = []\n"
                    + "names = importlib.metadata.packages_distributions()\n" + script + "\nprint(', '.join(v))",
                    List.of());
            assumeTrue(answer.exit == 0, () -> "Python lacks one of " + Arrays.toString(packages));
            return new RealPython(program, answer.text.strip());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /// {@return a test whose name says which versions it ran against}
    public DynamicTest test(String name, Body body) {
        return DynamicTest.dynamicTest(name + " (" + versions + ")", () -> body.run(this));
    }

    /// Runs a script, which has to end well.
    ///
    /// @param script the script
    /// @param arguments what `sys.argv` has behind its first element
    /// @return what it printed
    public String run(String script, Object... arguments) throws IOException {
        Answer answer = answer(program, "import sys\n" + script,
                Arrays.stream(arguments).map(Object::toString).toList());
        assertThat(answer.exit).as(answer.text).isZero();
        return answer.text;
    }

    private record Answer(int exit, String text) {}

    private static Answer answer(String program, String script, List<String> arguments) throws IOException {
        Path output = Files.createTempFile("python", ".txt");
        try {
            List<String> command = new ArrayList<>(List.of(program, "-W", "ignore", "-c", script));
            command.addAll(arguments);
            Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile())
                    .start();
            int exit = process.waitFor();
            return new Answer(exit, Files.readString(output, UTF_8));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        } finally {
            Files.deleteIfExists(output);
        }
    }
}
