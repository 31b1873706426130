package io.undercroft.interop;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Models in several files that go to the real libraries and come from them.
class RealShardsTest {
    private static final String HEAD = "lm_head.weight";
    private static final String EMBEDDING = "transformer.wte.weight";
    private static final String MODEL = """
            import json, os, torch
            from transformers import GPT2Config, GPT2LMHeadModel
            torch.manual_seed(3)
            model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=8, vocab_size=11, n_positions=6))
            assert model.lm_head.weight is model.transformer.wte.weight
            """;

    @TempDir
    private Path folder;
    /// The weights of the model in one file of `torch.save`.
    private Path whole;

    @BeforeEach
    void nameTheModel() {
        whole = folder.resolve("whole.pt");
    }

    @TestFactory
    List<DynamicTest> sets() {
        RealPython python = RealPython.with("transformers", "huggingface_hub", "safetensors", "torch");
        return List.of(
                python.test("a GPT-2 of save_pretrained is read", this::savePretrainedComesHere),
                python.test("what huggingface_hub tied is tied here", this::theHubComesHere),
                python.test("from_pretrained loads a tied GPT-2 of ours", this::oursGoesThere),
                python.test("files of torch.save with an index are one state, tied", this::binFilesComeHere));
    }

    private void savePretrainedComesHere(RealPython python) throws IOException {
        Path there = folder.resolve("pretrained");
        python.run(MODEL + """
                model.save_pretrained(sys.argv[1], max_shard_size='3KB')
                torch.save(model.state_dict(), sys.argv[2])
                """, there, whole);
        try (Checkpoint c = Checkpoint.open(there.resolve("model.safetensors.index.json"))) {
            assertThat(c.files()).hasSizeGreaterThan(3);
            assertThat(c.names()).doesNotContain(HEAD).hasSize(weights() - 1);
            assertSameWeights(c);
        }
    }

    private void theHubComesHere(RealPython python) throws IOException {
        Path there = Files.createDirectory(folder.resolve("hub"));
        python.run(MODEL + """
                from huggingface_hub import save_torch_model
                save_torch_model(model, sys.argv[1], max_shard_size='3KB')
                torch.save(model.state_dict(), sys.argv[2])
                """, there, whole);
        try (Checkpoint c = Checkpoint.open(there.resolve("model.safetensors.index.json"))) {
            assertThat(c.tensor(HEAD).storage()).isSameAs(c.tensor(EMBEDDING).storage());
            assertThat(c.names()).hasSize(weights());
            assertThat(c.metadata()).containsOnlyKeys("total_size");
            assertSameWeights(c);
        }
    }

    private int weights() throws IOException {
        try (Checkpoint c = Checkpoint.open(whole)) {
            return c.names().size();
        }
    }

    private void assertSameWeights(Checkpoint set) throws IOException {
        try (Checkpoint c = Checkpoint.open(whole)) {
            set.names().forEach(
                    name -> assertThat(set.tensor(name).contentEquals(c.tensor(name))).as(name).isTrue());
        }
    }

    private void oursGoesThere(RealPython python) throws IOException {
        Path ours = Files.createDirectory(folder.resolve("ours"));
        python.run(MODEL + """
                model.config.save_pretrained(sys.argv[1])
                torch.save(model.state_dict(), sys.argv[2])
                """, ours, whole);
        Path index = ours.resolve("model.safetensors.index.json");
        try (Checkpoint c = Checkpoint.open(whole)) {
            Checkpoint.save(index, c.state(), SaveOptions.defaults().setting("safetensors.shard", "3KB"));
        }
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.tensor(HEAD).storage()).isSameAs(c.tensor(EMBEDDING).storage());
        }
        python.run(MODEL + """
                from huggingface_hub import split_torch_state_dict_into_shards
                from safetensors.torch import load_file, load_model
                from transformers import AutoModelForCausalLM
                folder, expected = sys.argv[1], torch.load(sys.argv[2], weights_only=True)
                loaded, info = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
                assert not info['missing_keys'] and not info['unexpected_keys'], info
                assert loaded.lm_head.weight is loaded.transformer.wte.weight
                for name, tensor in loaded.state_dict().items():
                    assert tensor.equal(expected[name]), name

                index = json.load(open(folder + '/model.safetensors.index.json'))
                kept = {name: tensor for name, tensor in expected.items() if name != 'lm_head.weight'}
                split = split_torch_state_dict_into_shards(kept, max_shard_size='3KB')
                assert index['weight_map'] == split.tensor_to_filename
                assert index['metadata']['total_size'] == split.metadata['total_size']
                assert index['metadata']['lm_head.weight'] == 'transformer.wte.weight'

                fresh = GPT2LMHeadModel(model.config)
                files = sorted(set(index['weight_map'].values()))
                assert files == sorted(name for name in os.listdir(folder) if name.endswith('.safetensors'))
                for file in files:
                    tensors = load_file(folder + '/' + file)
                    assert {n for n, f in index['weight_map'].items() if f == file} == set(tensors)
                    for name, tensor in tensors.items():
                        assert tensor.equal(expected[name]), name
                    missing, unexpected = load_model(fresh, folder + '/' + file, strict=False)
                    assert not unexpected, unexpected
                assert fresh.lm_head.weight is fresh.transformer.wte.weight
                for name, tensor in fresh.state_dict().items():
                    assert tensor.equal(expected[name]), name
                """, ours, whole);
    }

    private void binFilesComeHere(RealPython python) throws IOException {
        Path there = Files.createDirectory(folder.resolve("bin"));
        python.run(MODEL + """
                weights = model.state_dict()
                torch.save(weights, sys.argv[2])
                tied = ['transformer.wte.weight', 'lm_head.weight']
                others = [name for name in weights if name not in tied]
                parts = [tied + others[:4], others[4:9], others[9:]]
                files = [f'pytorch_model-0000{i + 1}-of-00003.bin' for i in range(3)]
                for file, part, new in zip(files, parts, [True, False, True]):
                    torch.save({name: weights[name] for name in part}, sys.argv[1] + '/' + file,
                               _use_new_zipfile_serialization=new)
                total = sum(t.numel() * t.element_size() for n, t in weights.items() if n != 'lm_head.weight')
                index = {'metadata': {'total_size': total},
                         'weight_map': {name: file for file, part in zip(files, parts) for name in part}}
                with open(sys.argv[1] + '/pytorch_model.bin.index.json', 'w') as f:
                    f.write(json.dumps(index, indent=2, sort_keys=True) + '\\n')
                """, there, whole);
        try (Checkpoint c = Checkpoint.open(there.resolve("pytorch_model.bin.index.json"))) {
            assertThat(c.format()).isEqualTo("torch-index");
            assertThat(c.names()).hasSize(weights());
            assertThat(c.tensor(HEAD).storage()).isSameAs(c.tensor(EMBEDDING).storage());
            assertSameWeights(c);
        }
    }
}
