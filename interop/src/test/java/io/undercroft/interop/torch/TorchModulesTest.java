package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.TypedMap;
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
import java.util.stream.IntStream;
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
                    .noneMatch(ForeignClass::isDangerous);
            checkWeights(Path.of(file + ".safetensors"), c, digests);
            Path croft = Path.of(file + ".croft");
            Checkpoint.save(croft, c.state());
            try (Checkpoint again = Checkpoint.open(croft)) {
                // Constants have no identity.
                Sameness.check(c.state(), again.state(), Symbol.class::isInstance);
            }
        }
    }

    /// Written as tensors by name, a module has the names and elements of `state_dict()`; other states have other
    /// values.
    private static void checkWeights(Path safetensors, Checkpoint c, Map<String, String> digests) throws IOException {
        if (PythonObjects.isModule(c.tree())) {
            Checkpoint.save(safetensors, c.tree(), SaveOptions.defaults().setting("safetensors.sharing", "copy"));
            try (Checkpoint weights = Checkpoint.open(safetensors)) {
                Map<String, String> found = new LinkedHashMap<>();
                weights.names().forEach(name -> found.put(name, Fixtures.sha256(weights.tensor(name))));
                assertThat(found).isEqualTo(digests);
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

    /// Values in each protocol; with `compare`, what Python makes of ours again.
    private static final String VALUES = """
            import argparse, collections, datetime as d, decimal, enum, fractions, functools, json, pathlib, pickle
            import torch, types, uuid
            class Color(enum.Enum):
                RED = 1
            Point = collections.namedtuple('Point', 'x y')
            class Elements(list): pass
            class Number(int): pass
            class Outer:
                class Inner:
                    def __init__(self): self.value = 3
                    def __eq__(self, other): return vars(self) == vars(other)
            plus2 = d.timezone(d.timedelta(hours=2))
            shown = {
                'date': d.date(2026, 1, 2), 'datetime': d.datetime(2026, 1, 2, 3, 4, 5, 678901),
                'whole': d.datetime(1, 1, 1),
                'fold': d.datetime(2026, 10, 25, 2, 30, fold=1),
                'zone': d.datetime(2026, 1, 2, 3, 4, tzinfo=plus2),
                'utc': d.datetime.max.replace(tzinfo=d.timezone.utc),
                'west': d.time(1, 2, 3, 4, tzinfo=d.timezone(-d.timedelta(hours=5, minutes=30))),
                'time': d.time(23, 59, 59, 999999), 'delta': d.timedelta(days=-1, seconds=5, microseconds=7),
                'short': d.timedelta(hours=12), 'long': d.timedelta.max, 'nothing': d.timedelta(),
                'decimal': decimal.Decimal('1.50'), 'inf': decimal.Decimal('Infinity'),
                'uuid': uuid.UUID(int=2**127 + 5),
                'small': uuid.UUID(int=7), 'path': pathlib.PosixPath('/a/b c'),
                'relative': pathlib.PurePosixPath('a/b'),
                'here': pathlib.Path(), 'root': pathlib.PosixPath('/'), 'windows': pathlib.PureWindowsPath('C:/a/b')}
            others = {
                'deque': collections.deque([1, 2], maxlen=5), 'point': Point(1, 'b'), 'color': Color.RED,
                'counter': collections.Counter('aab'), 'default': collections.defaultdict(list, {1: [2]}),
                'fraction': fractions.Fraction(1, 3), 'range': range(1, 10, 2), 'slice': slice(1, None, 2),
                'bytearray': bytearray(b'ab'), 'complex': 1j, 'class': int, 'none': type(None), 'dots': ...,
                'namespace': argparse.Namespace(lr=0.1), 'simple': types.SimpleNamespace(a=1), 'number': Number(5),
                'elements': Elements([1]), 'inner': Outer.Inner(), 'in': Outer.Inner,
                'points': {Point(1, 2), 3}, 'paths': frozenset([pathlib.PosixPath('x')]),
                'frozen': {frozenset([1]), frozenset([2])}, 'pairs': {(Color.RED, 1)}, 'keys': {Color.RED: 1}}
            tensors = {'tensor': torch.arange(6.).view(2, 3), 'parameter': torch.nn.Parameter(torch.ones(2))}
            same = lambda a, b: type(a) is type(b) and (torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b)
            values = shown | others | tensors
            if sys.argv[2] == 'write':
                for p in range(6):
                    pickle.dump(values, open(f'{sys.argv[1]}/values.{p}.pkl', 'wb'), protocol=p)
                print(json.dumps({k: v.isoformat() if isinstance(v, d.datetime) else str(v) for k, v in shown.items()}))
            else:
                for p in range(6):
                    ours = torch.load(f'{sys.argv[1]}/values.{p}.pt', weights_only=False)
                    print([k for k in values if not same(ours[k], values[k])], list(ours) == list(values))
            """;

    @TestFactory
    Stream<DynamicTest> valuesOfPythonAreShownAndLoadedAgain() throws IOException {
        JsonNode texts = parse(python.run(VALUES, folder, "write"));
        SaveOptions writing = SaveOptions.defaults().setting("torch.objects", "write");
        for (int protocol = 0; protocol < 6; protocol++) {
            Path croft = folder.resolve("values.croft");
            try (Checkpoint c = Checkpoint.open(folder.resolve("values." + protocol + ".pkl"))) {
                Map<?, ?> state = (Map<?, ?>) c.state();
                texts.properties().forEach(text -> assertThat(((TypedMap) state.get(text.getKey())).attributes())
                        .as(text.getKey()).containsEntry("text", text.getValue().asText()));
                assertThat(c.foreignClasses()).noneMatch(ForeignClass::isDangerous);
                Files.deleteIfExists(croft);
                Checkpoint.save(croft, state);
            }
            try (Checkpoint c = Checkpoint.open(croft)) {
                Checkpoint.save(folder.resolve("values." + protocol + ".pt"), c.state(), writing);
            }
        }
        List<String> results = python.run(VALUES, folder, "compare").lines().toList();
        return IntStream.range(0, 6).mapToObj(protocol -> python.test("values of protocol " + protocol,
                _ -> assertThat(results.get(protocol)).isEqualTo("[] True")));
    }

    private static JsonNode parse(String line) {
        try {
            return new ObjectMapper().readTree(line);
        } catch (IOException e) {
            throw new AssertionError(line, e);
        }
    }
}
