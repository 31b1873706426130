package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// TorchScript archives: their tensors are read, by the names of `state_dict()`, and their program is not run.
class TorchScriptTest {
    private static final String CODE = """
            class M(Module):
              __parameters__ = ["w", ]
              __buffers__ = ["b", ]
              b : Tensor
              w : Tensor
              plain : Tensor
              training : bool
              inner : __torch__.a.Inner
              def forward(self: __torch__.M,
                x: Tensor) -> Tensor:
                return torch.add(x, CONSTANTS.c0)
            """;
    private static final String INNER = """
            class Other(NamedTuple):
              __parameters__ = ["buf", ]
            class Inner(Module):
              __parameters__ = []
              __buffers__ = ["buf", ]
              buf : Tensor
            """;

    @TempDir
    private Path folder;

    private static PickleBuilder object(PickleBuilder pickle, String module, String name) {
        return pickle.global(module, name).ops(")").bytes(0x81).ops("}(");
    }

    /// A module with a buffer, a parameter, a tensor that is neither, another value and a module in it.
    private static byte[] module() {
        PickleBuilder pickle = object(new PickleBuilder(), "__torch__", "M");
        pickle.text("b").tensor("0", 2).text("w").tensor("1", 3).text("plain").tensor("2", 1);
        pickle.text("training").bytes(0x88).text("names").global("torch.jit._pickle", "restore_type_tag");
        pickle.ops("](").text("a").ops("e").text("List[str]").bytes(0x86).ops("R").text("inner");
        return object(pickle, "__torch__.a", "Inner").text("buf").tensor("3", 1).ops("ubub").stop();
    }

    private static byte[] floats(float... values) {
        ByteBuffer buffer = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            buffer.putFloat(value);
        }
        return buffer.array();
    }

    private static Map<String, byte[]> records() {
        Map<String, byte[]> records = new LinkedHashMap<>();
        records.put("data/0", floats(1, 2));
        records.put("data/1", floats(3, 4, 5));
        records.put("data/2", floats(6));
        records.put("data/3", floats(7));
        records.put("data.pkl", module());
        records.put("code/__torch__.py", CODE.getBytes(US_ASCII));
        records.put("code/__torch__.py.debug_pkl", new byte[10]);
        records.put("code/__torch__/a.py", INNER.getBytes(US_ASCII));
        records.put("constants/0", floats(8, 9));
        records.put("constants.pkl", new PickleBuilder().tensor("0", 2).bytes(0x85).stop());
        records.put("extra/notes.txt", new byte[5]);
        records.put("version", "3\n".getBytes(US_ASCII));
        records.put("byteorder", "little".getBytes(US_ASCII));
        return records;
    }

    private Path archive(Map<String, byte[]> records) throws IOException {
        Path path = folder.resolve("script.pt");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(path))) {
            for (Map.Entry<String, byte[]> record : records.entrySet()) {
                TorchZips.store(zip, "m/" + record.getKey(), record.getValue());
            }
        }
        return path;
    }

    @Test
    void tensorsHaveTheNamesOfTheStateDict() throws IOException {
        try (Checkpoint c = Checkpoint.open(archive(records()))) {
            assertThat(c.names()).containsExactly("w", "b", "inner.buf", "attributes/plain", "constants/0");
            assertThat(c.tensor("w").toFloatArray()).containsExactly(3, 4, 5);
            assertThat(c.tensor("b").toFloatArray()).containsExactly(1, 2);
            assertThat(c.tensor("inner.buf").toFloatArray()).containsExactly(7);
            assertThat(c.tensor("constants/0").toFloatArray()).containsExactly(8, 9);
            Map<?, ?> attributes = (Map<?, ?>) ((TypedMap) c.tree()).attributes().get("attributes");
            assertThat(attributes.get("training")).isEqualTo(true);
            assertThat(attributes.get("names")).isEqualTo(List.of("a"));
            assertThat(c.foreignClasses()).isEmpty();
            assertThat(c.verify().damages()).isEmpty();
        }
    }

    @Test
    void aChoiceOfTensorsReadsTheirRecordsOnly() throws IOException {
        for (String name : List.of("b", "constants/0")) {
            try (Checkpoint c = Checkpoint.open(archive(records()), OpenOptions.defaults().only(name))) {
                assertThat(c.names()).containsExactly(name);
                assertThat(c.tensor(name).toFloatArray()).hasSize(2).doesNotContain(0);
                assertThat(((Tensor) ((Map<?, ?>) c.tree()).get("w")).storage().isMeta()).isTrue();
            }
        }
    }

    @Test
    void theProgramAndOtherRecordsAreReported() throws IOException {
        try (Checkpoint c = Checkpoint.open(archive(records()))) {
            assertThat(c.unread()).allMatch(part -> part.kind() == Kind.RECORD).hasSize(2);
            assertThat(c.unread().get(0).what()).isEqualTo("a TorchScript program, which is not run, in 2 files of "
                    + "code: 'm/code/__torch__.py', 'm/code/__torch__/a.py'");
            assertThat(c.unread().get(1).what()).contains("1 record", "'m/extra/notes.txt'");
            Path out = folder.resolve("out.safetensors");
            Checkpoint.save(out, c.tree());
            try (Checkpoint again = Checkpoint.open(out)) {
                assertThat(again.names()).containsExactlyInAnyOrder("w", "b", "inner.buf");
            }
        }
    }

    @Test
    void withoutCodeEveryTensorOfAModuleIsInTheState() throws IOException {
        Map<String, byte[]> records = records();
        records.keySet().removeIf(name -> name.startsWith("code/"));
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThat(c.names()).containsExactly("b", "w", "plain", "inner.buf", "constants/0");
        }
        // Before PyTorch 1.6 the code did not name buffers.
        records = records();
        records.put("code/__torch__.py", CODE.replaceAll("(?m)^.*__buffers__.*\n", "").getBytes(US_ASCII));
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThat(c.names()).containsExactly("w", "b", "plain", "inner.buf", "constants/0");
        }
    }

    /// As archives for mobile devices have them, and those of PyTorch 1.3.
    @Test
    void storagesAreNamedAsOlderVersionsAndThoseForMobileDevicesDo() throws IOException {
        Map<String, byte[]> records = records();
        PickleBuilder constants = new PickleBuilder().global("torch._utils", "_rebuild_tensor_v2").ops("((");
        constants.text("storage").global("torch", "FloatStorage").text("0.storage").text("cpu").integer(2);
        constants.ops("NtQ").integer(0).integer(2).bytes(0x85).integer(1).bytes(0x85, 0x89).ops("NtR");
        records.put("constants.pkl", constants.bytes(0x85).stop());
        records.put("constants/0.storage", records.remove("constants/0"));
        try (Checkpoint c = Checkpoint.open(archive(records))) {
            assertThat(c.tensor("constants/0").toFloatArray()).containsExactly(8, 9);
        }
    }

    private FormatException refusal(Map<String, byte[]> records, OpenOptions options) throws IOException {
        Path path = archive(records);
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Checkpoint.open(path, options).close());
        assertThat(refusal).isNotNull();
        return refusal;
    }

    @Test
    void whatIsNoModuleIsRefused() throws IOException {
        OpenOptions options = OpenOptions.defaults();
        Map<String, byte[]> records = records();
        records.put("data.pkl", new PickleBuilder().tensor("0", 2).stop());
        assertThat(refusal(records, options).code()).isEqualTo("TORCH-SCRIPT");
        assertThat(refusal(records(), options.setting("torch.strict", "on")).code()).isEqualTo("TORCH-GLOBAL");
        // A module that holds itself.
        PickleBuilder cycle = new PickleBuilder().global("__torch__", "M").ops(")").bytes(0x81).put(0).ops("}(");
        records.put("data.pkl", cycle.text("inner").get(0).ops("ub").stop());
        assertThat(refusal(records, options).code()).isEqualTo("TORCH-SCRIPT");
        Map<String, byte[]> old = new LinkedHashMap<>(records());
        old.keySet().removeIf(name -> name.endsWith(".pkl"));
        old.put("model.json", "{}".getBytes(US_ASCII));
        assertThat(refusal(old, options)).hasMessageContainingAll("TorchScript", "model.json");
    }

    /// A module that is in two places of each of forty modules has more names than fit into memory.
    @Test
    void moduleThatAreInVeryManyPlacesAreRefused() throws IOException {
        PickleBuilder pickle = object(new PickleBuilder(), "__torch__", "M").text("w").tensor("0", 2).ops("ub").put(0);
        for (int i = 1; i < 40; i++) {
            pickle.ops("0");
            object(pickle, "__torch__", "M").text("a").get(i - 1).text("b").get(i - 1).ops("ub").put(i);
        }
        Map<String, byte[]> records = records();
        records.put("data.pkl", pickle.stop());
        assertThat(refusal(records, OpenOptions.defaults()).code()).isIn("TORCH-SHARED", "COST-MEMORY", "COST-WORK");
    }

    // ---- the real library ----

    @TestFactory
    Stream<DynamicTest> whatTorchJitSavesIsReadAsItsStateDict() throws IOException {
        RealPython python = RealPython.with("torch");
        Path saved = Files.createDirectory(folder.resolve("saved"));
        // PyTorch compiles the source of the classes, so they are in a file.
        Files.writeString(folder.resolve("models.py"), """
                import torch, sys
                class Sub(torch.nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.lin = torch.nn.Linear(3, 2)
                        self.register_buffer('buf', torch.arange(4.))
                        self.register_buffer('hidden', torch.arange(2.), persistent=False)
                        self.names: list[str] = ['a', 'b']
                        self.plain = torch.ones(2)
                        self.d: dict[str, int] = {'x': 1}
                        self.none = torch.nn.Linear(2, 2, bias=False)
                    def forward(self, x):
                        return self.none(self.lin(x) + torch.tensor([1., 2.]) + self.plain)
                class Model(torch.nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.a = Sub()
                        self.b = self.a.lin
                        self.seq = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
                        self.w = torch.nn.Parameter(torch.zeros(3)[1:])
                        self.w2 = self.w
                        self.list = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(1))])
                        self.narrow = torch.nn.Parameter(torch.ones(2).bfloat16(), requires_grad=False)
                    def forward(self, x):
                        return self.seq(self.a(x)) + self.b(x) + self.w + self.w2
                m = Model()
                scripted = torch.jit.script(m)
                models = {'scripted': scripted, 'traced': torch.jit.trace(Sub(), torch.ones(2, 3)),
                          'frozen': torch.jit.freeze(scripted.eval()), 'plain': torch.jit.script(torch.nn.ReLU())}
                for name, model in models.items():
                    torch.jit.save(model, f'{sys.argv[1]}/{name}.pt', _extra_files={'notes': 'x'})
                    for key, t in torch.jit.load(f'{sys.argv[1]}/{name}.pt').state_dict(keep_vars=True).items():
                        elements = t.detach().double().contiguous().flatten().view(torch.uint8).tolist()
                        print(name, key, t.requires_grad, t.dtype, bytes(elements).hex(), *t.shape)
                    print(name, '-')
                """);
        List<String> lines = python.run("sys.path.insert(0, sys.argv[2])\nimport models", saved, folder).lines()
                .toList();
        return Stream.of("scripted", "traced", "frozen", "plain")
                .map(name -> python.test("a " + name + " module", _ -> {
                    try (Checkpoint c = Checkpoint.open(saved.resolve(name + ".pt"))) {
                        List<String> described = c.names().stream().filter(each -> each.indexOf('/') < 0)
                                .map(each -> name + " " + each + describe(c.tensor(each))).toList();
                        assertThat(described).containsExactlyElementsOf(lines.stream()
                                .filter(line -> line.startsWith(name + " ") && !line.endsWith("-")).toList());
                        assertThat(c.unread().getFirst().what()).contains("TorchScript program");
                    }
                }));
    }

    private static String describe(Tensor tensor) {
        StringBuilder text = new StringBuilder(tensor.is(Flag.REQUIRES_GRAD) ? " True" : " False");
        ByteBuffer elements = ByteBuffer.allocate(Math.toIntExact(8 * tensor.numel())).order(ByteOrder.LITTLE_ENDIAN);
        Arrays.stream(tensor.toDoubleArray()).forEach(elements::putDouble);
        text.append(" torch.").append(tensor.dtype()).append(' ')
                .append(HexFormat.of().formatHex(elements.array()));
        for (long size : tensor.shape().toArray()) {
            text.append(' ').append(size);
        }
        return text.toString();
    }
}
