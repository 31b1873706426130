package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// The JSON output of commands that write files, verify or list.
class SavingJsonTest {
    @TempDir
    Path folder;

    private static List<String> fields(JsonNode json) {
        return json.properties().stream().map(Map.Entry::getKey).toList();
    }

    @Test
    void savesReportWhatTheyWrote() throws IOException {
        Path out = folder.resolve("a.croft");
        Invocation converted = Invocation.of("convert --json --report", TRAINING, out);
        assertThat(converted.out()).hasLineCount(1);
        JsonNode json = converted.json();
        assertThat(fields(json)).containsExactly("source", "format", "tensors", "storages", "target", "nbytes",
                "bytes");
        assertThat(json.get("nbytes").asLong()).isEqualTo(Files.size(out));
        assertThat(json.get("tensors").asInt()).isEqualTo(113);
        assertThat(json.at("/bytes/identity").asInt()).isEqualTo(131_072);
        assertThat(json.at("/bytes/written").asInt()).isPositive();

        JsonNode appended = Invocation.of("append --json", out, torch("tied.pt")).json();
        assertThat(appended.get("snapshot").asInt()).isEqualTo(2);
        assertThat(appended.at("/bytes/written").asInt()).isEqualTo(24);
        Path copy = folder.resolve("copy.croft");
        assertThat(Invocation.of("convert --json --self-contained --at 1", out, copy).json()).hasToString(
                "{\"source\":\"%s\",\"snapshot\":1,\"target\":\"%s\",\"nbytes\":%s}".formatted(out, copy,
                        Files.size(copy)));
        JsonNode compacted = Invocation.of("compact --json --keep 1", out).json();
        assertThat(fields(compacted)).containsExactly("file", "snapshots", "nbytes", "saved_nbytes");
        assertThat(compacted.get("snapshots").asInt()).isEqualTo(1);
        assertThat(fields(Invocation.of("convert --json", out, folder.resolve("a.npz")).json())).containsExactly(
                "source", "format", "tensors", "storages", "target", "nbytes");
        assertThat(Invocation.of("convert --json", out, "-").code()).isEqualTo(2);
    }

    @Test
    void setsListTheirFiles() throws IOException {
        Path out = folder.resolve("a.croft");
        Invocation.of("convert", torch("tied.pt"), out);
        Path set = folder.resolve("all.croftset");

        JsonNode created = Invocation.of("set create --json", set, out).json();

        assertThat(created).isEqualTo(Invocation.of("set list --json", set).json());
        assertThat(created).hasToString(
                "{\"shards\":[{\"file\":\"a.croft\",\"snapshot\":1,\"nbytes\":%s,\"tensors\":2,\"storages\":1}]}"
                        .formatted(Files.size(out)));
    }

    @Test
    void damageIsListedForPrograms() throws IOException {
        Path file = folder.resolve("a.croft");
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("hit", Tensor.arange(DType.FLOAT32, 1000));
        state.put("spared", Tensor.of(1f));
        Checkpoint.save(file, state);
        assertThat(Invocation.of("verify --json", file).json().get("complete").asBoolean()).isTrue();
        byte[] bytes = Files.readAllBytes(file);
        bytes[1024 + 40] ^= 1;
        Files.write(file, bytes);

        Invocation verified = Invocation.of("verify --json", file);
        assertThat(verified.code()).isEqualTo(4);
        assertThat(verified.err()).contains("damaged");
        assertThat(verified.json().at("/damages/0/code").asText()).startsWith("V14");
        assertThat(verified.json().at("/damages/0/offset").asInt()).isEqualTo(1024);
        Invocation salvaged = Invocation.of("salvage --json", file, folder.resolve("b.croft"));
        assertThat(salvaged.code()).isEqualTo(4);
        assertThat(salvaged.json().get("left_out")).hasToString("[\"hit\"]");
        assertThat(salvaged.json().get("tensors").asInt()).isEqualTo(1);
        assertThat(salvaged.json().at("/damages/0/offset")).isEqualTo(verified.json().at("/damages/0/offset"));
    }

    @Test
    void formatsAreListedForPrograms() throws IOException {
        JsonNode json = Invocation.of("formats --json").json();
        assertThat(json.at("/formats/0")).hasToString("{\"name\":\"croft\",\"suffixes\":[\".croft\"],\"capabilities\":"
                + "[\"save\",\"sharing\",\"state\",\"metadata\",\"checksums\"]}");
        assertThat(json.get("formats")).hasSize(Checkpoint.formats().size());
        json.get("settings").forEach(setting -> assertThat(fields(setting)).containsExactly("name", "use", "values"));
    }
}
