package io.undercroft.interop.safetensors;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport.Kind;
import io.undercroft.serializer.SaveReport;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Files that go to the real libraries and come from them.
class RealLibrariesTest {
    private static final String TIED_MODEL = """
            import torch
            from safetensors.torch import load_file, load_model, save_file, save_model
            class Tied(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.wte = torch.nn.Embedding(5, 3)
                    self.head = torch.nn.Linear(3, 5, bias=False)
                    self.head.weight = self.wte.weight
            """;

    @TempDir
    private Path folder;

    @TestFactory
    List<DynamicTest> safetensors() {
        RealPython python = RealPython.with("safetensors", "torch", "numpy");
        return List.of(
                python.test("every dtype, empty and without dimensions, is read by load_file and safe_open",
                        this::everyDTypeGoesThere),
                python.test("what save_file writes is read and written again byte by byte", this::everyDTypeComesBack),
                python.test("load_model takes tied tensors of ours", this::tiedGoesThere),
                python.test("load_file returns all names but those that the report says, and all of them from copies",
                        this::theReportSaysWhatLoadFileLacks),
                python.test("what save_model tied is tied here", this::tiedComesBack),
                python.test("views of ours are whole tensors there", this::viewsGoThere));
    }

    @TestFactory
    List<DynamicTest> transformers() {
        return List.of(RealPython.with("transformers", "safetensors", "torch").test(
                "from_pretrained loads a tied GPT-2 of ours, with and without format=pt", this::transformersLoads));
    }

    private static Map<String, Object> everyDType() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            if (SafetensorsType.of(dtype).isPresent() && dtype.kind() != DType.Kind.BITS) {
                Tensor numbers = Tensor.arange(DType.FLOAT32, 6).view(2, 3);
                state.put(dtype.name(), numbers.to(dtype));
                state.put(dtype.name() + ".empty", Tensor.zeros(dtype, 0, 2));
                state.put(dtype.name() + ".scalar", Tensor.zeros(dtype));
            }
        }
        return state;
    }

    private void theReportSaysWhatLoadFileLacks(RealPython python) throws IOException {
        Tensor embedding = Tensor.arange(DType.FLOAT32, 6);
        Map<String, Object> state = Map.of("head", embedding, "wte", embedding, "third", embedding, "bias",
                Tensor.zeros(DType.FLOAT32, 2), "part", embedding.narrow(0, 1, 2));
        for (String sharing : List.of("keep", "copy")) {
            Path set = Files.createDirectory(folder.resolve(sharing));
            for (String name : List.of("model.safetensors", "model.safetensors.index.json")) {
                SaveReport report = Checkpoint.save(set.resolve(name), state,
                        SaveOptions.defaults().setting("safetensors.sharing", sharing));
                Set<String> lacking = report.loss(Kind.METADATA_ONLY).map(loss -> Set.copyOf(loss.names()))
                        .orElse(Set.of());
                assertThat(lacking).hasSize(sharing.equals("keep") ? 2 : 0);
                Set<String> expected = new TreeSet<>(state.keySet());
                expected.removeAll(lacking);
                List<Path> files = report.files().stream().filter(file -> file.toString().endsWith("s")).toList();
                assertThat(python.run("""
                        from safetensors.torch import load_file
                        print(' '.join(sorted(name for path in sys.argv[1:] for name in load_file(path))))
                        """, files.toArray())).isEqualToIgnoringWhitespace(String.join(" ", expected));
            }
        }
    }

    private void everyDTypeGoesThere(RealPython python) throws IOException {
        Path path = folder.resolve("ours.safetensors");
        Checkpoint.save(path, everyDType(), SaveOptions.defaults().metadata(Map.of("k", "v")));
        assertThat(python.run("""
                import torch
                from safetensors import safe_open
                from safetensors.torch import load_file
                tensors = load_file(sys.argv[1])
                with safe_open(sys.argv[1], 'pt') as f:
                    assert f.metadata() == {'format': 'pt', 'k': 'v'}, f.metadata()
                    assert set(f.keys()) == set(tensors)
                    for name in f.keys():
                        assert f.get_tensor(name).view(torch.uint8).equal(tensors[name].view(torch.uint8)) \\
                            if tensors[name].dim() else True
                for name, tensor in tensors.items():
                    dtype = getattr(torch, name.split('.')[0])
                    assert tensor.dtype == dtype, name
                    if name.endswith('.empty'):
                        assert tensor.shape == (0, 2), name
                    elif name.endswith('.scalar'):
                        assert tensor.shape == (), name
                    else:
                        assert tensor.to(torch.float64).equal(
                            torch.arange(6.).to(dtype).to(torch.float64).reshape(2, 3)), (name, tensor)
                print(len(tensors))
                """, path).strip()).isEqualTo(Integer.toString(everyDType().size()));
        assertThat(everyDType()).hasSize(57);
    }

    private void everyDTypeComesBack(RealPython python) throws IOException {
        Path there = folder.resolve("there.safetensors");
        python.run("""
                import torch
                from safetensors.torch import _TYPES, save_file
                torch.manual_seed(1)
                tensors = {}
                for dtype in set(_TYPES.values()) | {torch.float8_e8m0fnu, torch.float4_e2m1fn_x2}:
                    raw = torch.randint(0, 2 if dtype == torch.bool else 256, (3, 16), dtype=torch.uint8)
                    tensors[str(dtype)] = raw.view(dtype)
                    tensors[chr(0x1f600) + str(dtype)] = raw.view(dtype)[:0]
                    tensors[chr(0xffee) + '"' + str(dtype)] = raw.view(dtype)[0, 0].clone() \\
                        if dtype != torch.float4_e2m1fn_x2 else raw[:1].view(dtype).clone()
                save_file(tensors, sys.argv[1], metadata={'format': 'pt'})
                """, there);
        Path again = folder.resolve("again.safetensors");
        try (Checkpoint c = Checkpoint.open(there)) {
            assertThat(c.names()).hasSize(60);
            assertThat(c.metadata()).isEqualTo(Map.of("format", "pt"));
            Checkpoint.save(again, c.state(), SaveOptions.defaults().metadata(c.metadata()));
        }
        assertThat(again).hasSameBinaryContentAs(there);
    }

    private void tiedGoesThere(RealPython python) throws IOException {
        Path path = folder.resolve("tied.safetensors");
        Tensor weight = Tensor.arange(DType.FLOAT32, 15).view(5, 3);
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("wte.weight", weight);
        state.put("head.weight", weight);
        Checkpoint.save(path, state);
        python.run(TIED_MODEL + """
                model = Tied()
                assert load_model(model, sys.argv[1]) == (set(), []), load_model(model, sys.argv[1])
                assert model.wte.weight is model.head.weight
                assert model.head.weight.equal(torch.arange(15.).reshape(5, 3))
                """, path);
    }

    private void tiedComesBack(RealPython python) throws IOException {
        Path path = folder.resolve("model.safetensors");
        python.run(TIED_MODEL + "save_model(Tied(), sys.argv[1])", path);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.names()).containsExactlyInAnyOrder("wte.weight", "head.weight");
            assertThat(c.tensor("wte.weight").storage()).isSameAs(c.tensor("head.weight").storage());
        }
    }

    private void viewsGoThere(RealPython python) throws IOException {
        Path path = folder.resolve("views.safetensors");
        Tensor base = Tensor.arange(DType.FLOAT32, 24).view(4, 6);
        Map<String, Tensor> state = new LinkedHashMap<>();
        state.put("base", base);
        state.put("transposed", base.t());
        state.put("middle", base.narrow(0, 1, 2));
        state.put("column", base.select(1, 5));
        Checkpoint.save(path, state);
        python.run("""
                import torch
                from safetensors.torch import load_file
                base = torch.arange(24.).reshape(4, 6)
                tensors = load_file(sys.argv[1])
                assert tensors['base'].equal(base)
                assert tensors['transposed'].equal(base.t())
                assert tensors['middle'].equal(base[1:3])
                assert tensors['column'].equal(base[:, 5])
                """, path);
    }

    private void transformersLoads(RealPython python) throws IOException {
        Path model = Files.createDirectories(folder.resolve("model"));
        Path source = folder.resolve("source.pt");
        python.run("""
                import torch
                from transformers import GPT2Config, GPT2LMHeadModel
                torch.manual_seed(3)
                model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=11, n_positions=6))
                model.config.save_pretrained(sys.argv[1])
                torch.save(model.state_dict(), sys.argv[2])
                """, model, source);
        for (Map<String, String> metadata : List.of(Map.<String, String>of(), Map.of("format", "pt"))) {
            try (Checkpoint c = Checkpoint.open(source)) {
                assertThat(c.tensor("lm_head.weight").storage())
                        .isSameAs(c.tensor("transformer.wte.weight").storage());
                Checkpoint.save(model.resolve("model.safetensors"), c.state(),
                        SaveOptions.defaults().metadata(metadata));
            }
            python.run("""
                    import torch
                    from transformers import GPT2LMHeadModel
                    model, info = GPT2LMHeadModel.from_pretrained(sys.argv[1], output_loading_info=True)
                    assert not info['missing_keys'] and not info['unexpected_keys'], info
                    assert model.lm_head.weight is model.transformer.wte.weight
                    expected = torch.load(sys.argv[2], weights_only=True)
                    for name, tensor in model.state_dict().items():
                        assert tensor.equal(expected[name]), name
                    """, model, source);
        }
    }
}
