package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Map;
import java.util.stream.Collectors;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NamesOfCommandsTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"isnpect, inspect", "inspct, inspect", "verfy, verify", "snap, snapshots", "convertt, convert",
            "shm lst, shm list", "shm publsh, shm publish", "set craete, set create", "Verify, verify"})
    void ofAMistypedCommandTheNearestIsNamed(String typed, String meant) {
        Invocation refused = Invocation.of(typed);

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("did you mean croft " + meant + "?", "--help");
    }

    @ParameterizedTest
    @CsvSource({"export, convert FILE OUT --keep-bases", "flatten, convert FILE OUT --self-contained",
            "adopt, convert SOURCE OUT --base SOURCE", "commit, set create", "shards, set list", "publish, shm publish",
            "unpublish, shm remove", "shared, shm list", "gc, shm gc"})
    void ofAFormerCommandTheOneThatDoesItsWorkIsNamed(String former, String now) {
        Invocation refused = Invocation.of(former, "a", "b");

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("did you mean croft " + now + "?");
    }

    @ParameterizedTest
    @CsvSource({"inspect --hsah a, --hash", "inspect --jsn a, --json", "convert a b --repotr, --report",
            "convert a b --self-containd, --self-contained", "shm gc --publishd, --published",
            "verify --rot . a, --root"})
    void ofAMistypedOptionTheNearestIsNamed(String line, String meant) {
        Invocation refused = Invocation.of(line);

        assertThat(refused.code()).isEqualTo(2);
        assertThat(refused.err()).hasLineCount(1).contains("did you mean " + meant + "?", "--help");
    }

    @ParameterizedTest
    @ValueSource(strings = {"frobnicate", "shm frobnicate", "inspect --frobnicate a"})
    void ofAWordThatIsLikeNoneNothingIsNamed(String line) {
        assertThat(Invocation.of(line).err()).doesNotContain("did you mean").contains("--help");
    }

    @Test
    void severalFilesAreShownOneAfterTheOther() {
        Invocation shown = Invocation.of("inspect", torch("tied.pt"), torch("views.pt"));

        assertThat(shown.code()).isZero();
        assertThat(shown.out()).contains("tied.pt", "\n\n", "views.pt");
        assertThat(Invocation.of("verify", torch("tied.pt"), folder.resolve("no.pt"), torch("views.pt")).out())
                .hasLineCount(2);
    }

    @Test
    void aFileThatIsItsOwnBaseKeepsItsBytes() throws IOException {
        Path source = Files.copy(TRAINING, folder.resolve("model.pt"));
        Path later = folder.resolve("later.croft");
        Invocation.of("convert", torch("tied.pt"), later);

        assertThat(Invocation.of("append", later, source, "--base", source).code()).isZero();

        assertThat(Files.size(later)).isLessThan(Files.size(source) / 10);
        assertThat(Invocation.of("verify", later, "--root", folder).code()).isZero();
        assertThat(Invocation.of("convert", source, folder.resolve("model.safetensors"), "--part", "model", "--base",
                source).err()).contains("--base is for .croft files");
    }

    @Test
    void thePagesDescribeEveryCommand() throws IOException {
        String page = Files.readString(Path.of("..", "docs", "command.md"));
        String json = Files.readString(Path.of("..", "docs", "inspect-json.md"));
        for (String command : commands("croft", Invocation.of("help").out())) {
            String help = Invocation.of("help", command).out();
            assertThat(page).contains("croft " + command);
            for (String member : help.contains("Commands:") ? commands(command, help) : List.of("")) {
                String whole = (command + " " + member).strip();
                boolean printsJson = Invocation.of("help " + whole).out().contains("--json");
                assertThat(json.contains("croft " + whole + " --json`")).as(whole).isEqualTo(printsJson);
            }
        }
    }

    private static List<String> commands(String parent, String help) {
        List<String> commands = help.lines().dropWhile(line -> !line.equals("Commands:"))
                .takeWhile(line -> !line.equals("Exit codes:")).filter(line -> line.matches("  [a-z-]+ .*"))
                .map(line -> line.strip().split(" ", 2)[0]).toList();
        assertThat(commands).as(parent).isNotEmpty();
        return commands;
    }

    /// As bash runs it when somebody presses the Tab key.
    @ParameterizedTest
    @CsvSource({"croft sn, snapshots", "croft ded, dedup", "croft shm p, publish",
            "croft convert --self, --self-contained",
            "croft set c, create", "croft extract --dtype bf, bfloat16", "croft convert --to safetensors-,"
                    + " safetensors-index",
            "croft inspect --map-location m, meta", "croft convert --sharing i, identity",
            "croft convert --to torch-l, ''", "croft convert --format torch-l, torch-legacy",
            "croft convert --set torch., torch.strict=",
            "croft convert --to-set safetensors., safetensors.sharing= safetensors.shard=",
            "croft hexdump --section di, dims directory"})
    void bashCompletesWhatIsTyped(String typed, String completed) throws Exception {
        assertThat(complete(List.of(typed.split(" ", -1)))).containsExactlyInAnyOrder(completed.split(" "));
    }

    /// Names are completed as words that the shell takes as they are, and nothing in them is run.
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', value = {"extract FILE model/a | model/a\\ b",
            "extract FILE op | optimizer optimizer/lr", "inspect FILE --only odd/ | odd/\\$\\(touch\\ ran\\)",
            "convert FILE out.pt --part opt | optimizer optimizer/lr", "extract FILE 'model/a | model/a b",
            "extract FILE model/a\\ | model/a\\ b", "extract --dtype bf | bfloat16"})
    void bashCompletesNamesOfTensors(String typed, String completed) throws Exception {
        Path file = folder.resolve("a file.croft");
        Checkpoint.save(file, Map.of("model", Map.of("a b", Tensor.of(1f)), "optimizer", Map.of("lr", 0.1), "odd",
                Map.of("$(touch ran)", Tensor.of(1f)), "line\nbreak", Tensor.of(1f)));
        List<String> words = new ArrayList<>(List.of(program().toString()));
        for (String word : typed.split(" ", 0)) {
            words.add(word.equals("FILE") ? file.toString().replace(" ", "\\ ") : word);
        }

        assertThat(complete(words)).containsExactlyInAnyOrder(completed.split("(?<!\\\\|a|touch) "));
        assertThat(Path.of("ran")).doesNotExist();
        assertThat(folder.resolve("ran")).doesNotExist();
    }

    /// The command as a program.
    private Path program() throws IOException {
        Path program = Files.writeString(folder.resolve("croft"), """
                #!/bin/sh
                exec '%s' --enable-native-access=ALL-UNNAMED -cp '%s' %s "$@"
                """.formatted(ProcessHandle.current().info().command().orElseThrow(),
                System.getProperty("java.class.path"), Croft.class.getName()));
        assertThat(program.toFile().setExecutable(true)).isTrue();
        return program;
    }

    /// {@return what bash completes the last word to}
    private List<String> complete(List<String> words) throws Exception {
        Path script = Files.writeString(folder.resolve("completion"), Invocation.of("completion").out());
        String line = """
                source '%s'; COMP_WORDS=(%s); COMP_CWORD=%s
                $(complete -p croft | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%%s\\n' "${COMPREPLY[@]}"
                """.formatted(script,
                words.stream().map(word -> "'" + word.replace("'", "'\\''") + "'").collect(Collectors.joining(" ")),
                words.size() - 1);
        Process bash;
        try {
            bash = new ProcessBuilder("bash", "-c", line).redirectError(Redirect.DISCARD).start();
        } catch (IOException e) {
            assumeTrue(false, "there is no bash: " + e.getMessage());
            return List.of();
        }
        String said = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(bash.waitFor()).as(said).isZero();
        assertThat(Files.readString(script)).doesNotContain("quickstart-peer");
        return said.lines().map(String::strip).toList();
    }
}
