package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Programs of `torch.export`, and distributed checkpoints that are written, in all commands that open files.
class ModelsOfPyTorchTest {
    @TempDir
    Path folder;
    private Path dcp;

    @BeforeEach
    void makeTheDirectory() throws IOException {
        dcp = Files.createDirectory(folder.resolve("dcp"));
    }

    private static JsonNode hashes(Path file) throws IOException {
        return ok("inspect", "--json", "--hash", file).json().get("tensors");
    }

    private static Invocation ok(Object... words) {
        Invocation done = Invocation.of(words);
        assertThat(done.code()).as(done.err()).isZero();
        return done;
    }

    private static void assertEqual(Path one, Path other) {
        assertThat(ok("diff", one, other).out()).containsPattern("\n\\d+ tensors? equal, 0 changed, 0 only in A, 0 ");
    }

    // ---- programs of torch.export

    @ParameterizedTest
    @ValueSource(strings = {"program", "pickled", "old"})
    void aProgramIsVerifiedExtractedConvertedAndCompared(String name) throws IOException {
        Path program = Invocation.torch("export/" + name + ".pt2");
        String left = "not in the state: a program of torch.export, which is not run";

        assertThat(ok("inspect", program).out()).contains("torch-zip", "besides   a program of torch.export",
                "metadata  torch.export.inputs = \"x\"");
        Invocation verified = ok("verify", program);
        assertThat(verified.out()).contains("no damage found (torch-zip, ", "10 tensors on 8 storages");
        assertThat(verified.err()).contains(left);
        assertThat(ok("extract", program, "constants/scale").out()).isEqualTo("tensor([0.5000, 0.2500, 2.0000])\n");
        Path row = folder.resolve("row.npy");
        ok("extract", program, "row", "-o", row);
        try (Checkpoint c = Checkpoint.open(row)) {
            assertThat(c.state(Tensor.class).toFloatArray()).containsExactly(4, 5, 6, 7);
        }

        for (String suffix : List.of("croft", "pt")) {
            Path converted = folder.resolve(name + "." + suffix);
            assertThat(ok("convert", program, converted).err()).contains(left);
            assertEqual(program, converted);
            assertThat(hashes(converted)).isEqualTo(hashes(program));
        }
        Path weights = folder.resolve("weights.safetensors");
        ok("convert", program, weights, "--to-set", "safetensors.sharing=copy");
        Invocation changed = Invocation.of("diff", program, weights);
        assertThat(changed.code()).isEqualTo(5);
        assertThat(changed.out()).contains("only in A:", "constants/mask",
                "7 tensors equal, 0 changed, 3 only in A, 0 only in B");
    }

    @Test
    void layoutsOfOneProgramAreEqual() {
        assertEqual(Invocation.torch("export/program.pt2"), Invocation.torch("export/old.pt2"));
        assertEqual(Invocation.torch("export/program.pt2"), Invocation.torch("export/pickled.pt2"));
    }

    @Test
    void aProgramThatIsDamagedOrToBeWrittenIsRefused() throws IOException {
        byte[] bytes = Files.readAllBytes(Invocation.torch("export/program.pt2"));
        for (int position = 0; position < bytes.length - 4; position++) {
            // 4, 5, 6: a row of the tensor.
            if (bytes[position] == 0 && bytes[position + 2] == (byte) 0x80 && bytes[position + 3] == 0x40
                    && bytes[position + 6] == (byte) 0xa0 && bytes[position + 7] == 0x40) {
                bytes[position] = 1;
            }
        }
        Path damaged = Files.write(folder.resolve("damaged.pt2"), bytes);

        Invocation verified = Invocation.of("verify", damaged);

        assertThat(verified.code()).isEqualTo(4);
        assertThat(verified.err()).contains("data/weights/weight_", "1 damaged part");
        Invocation refused = Invocation.of("convert", Invocation.torch("tied.pt"), folder.resolve("out.pt2"));
        assertThat(refused.err()).hasLineCount(1).contains("no format is known by the end of its name");
        assertThat(folder.resolve("out.pt2")).doesNotExist();
    }

    // ---- distributed checkpoints

    @Test
    void aDistributedCheckpointIsInspectedVerifiedExtractedAndCompared() throws IOException {
        Invocation converted = ok("convert", Invocation.TRAINING, dcp, "--to", "torch-dcp", "--to-set",
                "torch-dcp.shard=200KB");

        assertThat(converted.out()).contains("-> " + dcp + " (");
        assertThat(ok("inspect", dcp).out()).contains("torch-dcp, ", " files", Invocation.EMBEDDING);
        assertThat(ok("verify", dcp).out()).contains("no damage found (torch-dcp, ", "113 tensors");
        assertThat(ok("extract", dcp, Invocation.EMBEDDING, "--rows", "1:3").out())
                .isEqualTo(ok("extract", Invocation.TRAINING, Invocation.EMBEDDING, "--rows", "1:3").out());
        Invocation compared = Invocation.of("diff", Invocation.TRAINING, dcp);
        assertThat(compared.out()).contains("\n113 tensors equal, 0 changed, 0 only in A, 0 only in B");
        Path back = folder.resolve("back.croft");
        ok("convert", dcp, back);
        assertThat(hashes(back)).isEqualTo(hashes(dcp));
        assertThat(ok("diff", dcp, back).out()).contains("113 tensors equal");
    }

    @Test
    void aShardThatIsDamagedIsNamed() throws IOException {
        ok("convert", Invocation.TRAINING, dcp, "--to", "torch-dcp");
        Path shard = dcp.resolve("__0_0.distcp");
        byte[] bytes = Files.readAllBytes(shard);
        bytes[bytes.length / 2] ^= 1;
        Files.write(shard, bytes);

        Invocation verified = Invocation.of("verify", dcp);

        assertThat(verified.code()).isEqualTo(4);
        assertThat(verified.err()).contains("in the shard __0_0.distcp is damaged", "1 damaged part");
        Files.delete(shard);
        assertThat(Invocation.of("verify", dcp)).satisfies(missing -> assertThat(missing.code()).isEqualTo(3))
                .satisfies(missing -> assertThat(missing.err()).contains("__0_0.distcp"));
    }

    @Test
    void aSetOfSlicesBecomesADistributedCheckpoint() throws IOException {
        Tensor whole = Tensor.arange(DType.FLOAT32, 12).view(4, 3);
        List<Path> shards = List.of(folder.resolve("first.croft"), folder.resolve("second.croft"));
        for (int half = 0; half < 2; half++) {
            Checkpoint.save(shards.get(half), Map.of("model", Map.of("weight", Slice.of(whole.narrow(0, 2L * half, 2),
                    whole.shape(), 2L * half, 0)), "own" + half, Tensor.of(half + 0.5f)));
        }
        Path set = folder.resolve("all.croftset");
        ok("set", "create", set, shards.getFirst(), shards.getLast());

        Invocation converted = ok("convert", set, dcp, "--to", "torch-dcp");

        assertThat(converted.err()).isEmpty();
        assertEqual(set, dcp);
        assertThat(ok("verify", dcp).out()).contains("no damage found");
        try (Checkpoint c = Checkpoint.open(dcp)) {
            assertThat(c.tensor("model/weight").contentEquals(whole)).isTrue();
            assertThat(c.tensor("own1").getFloat(0)).isEqualTo(1.5f);
        }
    }
}
