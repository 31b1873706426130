import io.undercroft.cli.Croft;
import io.undercroft.cli.internal.TextOutput;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/// Runs command lines of croft in one JVM. Each line of standard input is a file for what the command prints, and its
/// arguments, separated by tabs; the answer is one line: the exit code, and the messages on one line.
final class Commands {
    private Commands() {}

    public static void main(String[] none) throws IOException, ReflectiveOperationException {
        // The public method ends the process.
        Method execute = Croft.class.getDeclaredMethod("execute", TextOutput.class, PrintWriter.class, String[].class);
        execute.setAccessible(true);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintWriter answers = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            StringWriter messages = new StringWriter();
            Object code;
            try (TextOutput out = new TextOutput(Files.newOutputStream(Path.of(words[0])))) {
                String[] arguments = Arrays.copyOfRange(words, 1, words.length);
                code = execute.invoke(null, out, new PrintWriter(messages), arguments);
            }
            answers.println(code + "\t" + messages.toString().strip().replaceAll("\\s+", " "));
        }
    }
}
