package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;

/// Modules and other objects that real PyTorch pickles: what we read of them is what `state_dict()` says there, and
/// what we write of them is loaded there as what it was.
@EnabledIfEnvironmentVariable(named = "UNDERCROFT_PYTHON", matches = ".+", disabledReason = "UNDERCROFT_PYTHON names "
        + "no Python")
class TorchModulesTest {
    private static final List<String> KINDS = List.of(".pt", ".protocol4.pt", ".legacy.pt");

    @TempDir
    private Path folder;
    private final RealPython python = RealPython.with("torch");

    private List<String> ask(Object... arguments) throws IOException {
        try (InputStream source = Objects
                .requireNonNull(TorchModulesTest.class.getResourceAsStream("modules.py"))) {
            return python.run(new String(source.readAllBytes(), UTF_8), arguments).lines().toList();
        }
    }

    @TestFactory
    Stream<DynamicTest> tensorsOfModulesHaveTheNamesAndElementsOfStateDict() throws IOException {
        return ask("write", folder).stream().flatMap(name -> KINDS.stream().map(kind -> python.test(
                name + kind + " has the tensors of state_dict()",
                _ -> check(folder.resolve(name + kind), Fixtures.json(folder.resolve(name + ".json"))))));
    }

    private static void check(Path file, JsonNode expected) throws IOException {
        Map<String, String> digests = new LinkedHashMap<>();
        expected.properties().forEach(entry -> digests.put(entry.getKey(), entry.getValue().asText()));
        try (Checkpoint c = Checkpoint.open(file)) {
            Map<String, String> found = new LinkedHashMap<>();
            c.aliases().keySet().forEach(alias -> found.put(alias, Fixtures.sha256(c.tensor(alias))));
            assertThat(List.copyOf(found.entrySet())).isEqualTo(List.copyOf(digests.entrySet()));
            assertThat(c.foreignClasses()).isNotEmpty()
                    .allMatch(each -> each.isDangerous() == each.name().equals("builtins.getattr"));
            Path croft = Path.of(file + ".croft");
            Checkpoint.save(croft, c.state());
            try (Checkpoint again = Checkpoint.open(croft)) {
                // Constants have no identity.
                Sameness.check(c.state(), again.state(), Symbol.class::isInstance);
            }
        }
    }

    @TestFactory
    Stream<DynamicTest> objectsThatAreWrittenAgainAreLoadedAsWhatTheyWere() throws IOException {
        SaveOptions writing = SaveOptions.defaults().setting("torch.objects", "write");
        for (String name : ask("write", folder)) {
            // Older protocols find a class in a class, and make an object with keywords, by getattr, which is never
            // written.
            for (String kind : name.equals("keywords") ? List.of(".protocol4.pt") : KINDS) {
                try (Checkpoint c = Checkpoint.open(folder.resolve(name + kind))) {
                    String ours = kind.equals(".pt") ? name : name + kind.replace(".pt", "");
                    Checkpoint.save(folder.resolve(ours + ".ours.pt"), c.state(), writing);
                    Files.copy(folder.resolve(name + kind), folder.resolve(ours + ".pt"),
                            StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
        List<String> results = ask("compare", folder);
        assertThat(results).hasSizeGreaterThan(30);
        return results.stream().map(TorchModulesTest::parse)
                .map(result -> python.test("our " + result.get("name").asText() + " is loaded there as its own",
                        _ -> assertThat(result.get("outcome").asText()).isEqualTo("same")));
    }

    private static JsonNode parse(String line) {
        try {
            return new ObjectMapper().readTree(line);
        } catch (IOException e) {
            throw new AssertionError(line, e);
        }
    }
}
