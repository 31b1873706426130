package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What the commands say of a file of which a part is not in the state.
class UnreadPartsTest {
    @TempDir
    private Path folder;

    private Path torch7;
    private Path legacy;

    @BeforeEach
    void putTogether() throws IOException {
        torch7 = together("two.t7", Invocation.FIXTURES.resolve("torch7/tensor-int-2x3.bin.t7"),
                Invocation.FIXTURES.resolve("torch7/tensor-double-2x3.bin.t7"));
        legacy = together("two.pt", Invocation.torch("single_f32.legacy.pt"), Invocation.torch("tied.legacy.pt"));
    }

    private Path together(String name, Path... parts) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Path part : parts) {
            all.writeBytes(Files.readAllBytes(part));
        }
        return Files.write(folder.resolve(name), all.toByteArray());
    }

    private Path withRest(Path file) throws IOException {
        Path rest = Files.write(folder.resolve("rest"), "rest\u001b[1m".getBytes(StandardCharsets.ISO_8859_1));
        return together("rest-" + file.getFileName(), file, rest);
    }

    @Test
    void inspectShowsThem() throws IOException {
        assertThat(Invocation.of("inspect", torch7).out()).contains("besides   1 object of 2 (object 1 was opened), ",
                " B at byte 0x", "--set torch7.object=N");
        Invocation invocation = Invocation.of("inspect", "--json", legacy);
        assertThat(invocation.code()).isZero();
        JsonNode part = invocation.json().at("/unread/0");
        assertThat(part.get("kind").asText()).isEqualTo("state");
        assertThat(part.get("what").asText()).isEqualTo("1 save of 2 (save 1 was opened)");
        assertThat(part.get("setting").asText()).isEqualTo("torch-legacy.save");
        assertThat(part.get("offset").asLong() + part.get("nbytes").asLong()).isEqualTo(Files.size(legacy));
        assertThat(Invocation.of("inspect", "--json", Invocation.TRAINING).json().has("unread")).isFalse();
        assertThat(Invocation.of("inspect", "--set", "torch7.object=2", torch7).out()).contains("float64");
    }

    @Test
    void aPartOfAModelIsAPartForEachCommandAndIsSavedOnlyIfThatIsAllowed() throws IOException {
        Path part = folder.resolve("model-00001-of-00002.safetensors");
        Checkpoint.save(part, Map.of("t", Tensor.ones(DType.FLOAT32, 3)));
        Path croft = folder.resolve("there.croft");
        Invocation.of("convert", Invocation.torch("tied.pt"), croft);
        String lacks = "1 other file of the same model: this is file 1 of 2 by its name";
        assertThat(Invocation.of("inspect", part).out()).contains("besides   " + lacks);
        assertThat(Invocation.of("inspect", "--json", part).json().at("/unread/0/kind").asText()).isEqualTo("file");
        assertThat(Invocation.of("verify", part).err()).contains(lacks);
        assertThat(Invocation.of("verify", part).code()).isZero();
        assertThat(Invocation.of("diff", part, croft).err()).contains(lacks);
        assertThat(Invocation.of("extract", part, "u").err()).contains("no tensor or value 'u'", lacks);
        Path out = folder.resolve("out.croft");
        List<Invocation> refused = List.of(Invocation.of("convert", part, out),
                Invocation.of("convert", part, out, "--base", part), Invocation.of("append", croft, part),
                Invocation.of("shm", "publish", part, "undercroft-unread-parts-test"));
        assertThat(refused).allSatisfy(invocation -> {
            assertThat(invocation.code()).isEqualTo(2);
            assertThat(invocation.err()).contains(lacks, "--allow-part");
        });
        assertThat(out).doesNotExist();
        Invocation allowed = Invocation.of("convert", part, out, "--allow-part");
        assertThat(allowed.code()).isZero();
        assertThat(allowed.err()).contains(lacks);
        assertThat(Invocation.of("append", croft, part, "--allow-part").code()).isZero();
    }

    @Test
    void nothingIsSavedOfOneOfSeveralStatesIfItWasNotChosen() throws IOException {
        Path out = folder.resolve("out.croft");
        Invocation.of("convert", Invocation.torch("tied.pt"), folder.resolve("there.croft"));
        List<Invocation> refused = new ArrayList<>();
        for (Path file : List.of(torch7, legacy, withRest(torch7), withRest(Invocation.torch("tied.legacy.pt")))) {
            refused.add(Invocation.of("convert", file, out));
            refused.add(Invocation.of("convert", file, folder.resolve("out.safetensors")));
            refused.add(Invocation.of("convert", file, out, "--base", file));
            refused.add(Invocation.of("append", folder.resolve("there.croft"), file));
            refused.add(Invocation.of("shm", "publish", file, "undercroft-unread-parts-test"));
        }
        assertThat(refused).allSatisfy(invocation -> {
            assertThat(invocation.code()).isEqualTo(2);
            assertThat(invocation.err())
                    .contains("holds more than what would be saved", "Choose what to save with --set")
                    .doesNotContain("\u001b");
            assertThat(invocation.out()).isEmpty();
        });
        assertThat(out).doesNotExist();
    }

    @Test
    void whatWasChosenIsSavedAndTheRestIsSaid() {
        Path out = folder.resolve("out.croft");
        for (Path file : List.of(torch7, legacy)) {
            String setting = file == torch7 ? "torch7.object" : "torch-legacy.save";
            for (String number : List.of("1", "2")) {
                Invocation invocation = Invocation.of("convert", "--set", setting + "=" + number, file, out);
                assertThat(invocation.code()).isZero();
                assertThat(invocation.err()).contains("not in the state: 1 ", " of 2 (", " " + number + " was opened)");
            }
        }
    }

    @Test
    void verifyReadsOtherStatesAndFailsForBytesThatAreNothing() throws IOException {
        for (Path file : List.of(torch7, legacy)) {
            Invocation invocation = Invocation.of("verify", file);
            assertThat(invocation.code()).isZero();
            assertThat(invocation.err()).contains("not in the state: 1 ");
            Invocation rest = Invocation.of("verify", withRest(file));
            assertThat(rest.code()).isEqualTo(4);
            assertThat(rest.err()).contains("not in the state: 1 ", "8 B belong to nothing that the format has")
                    .doesNotContain("\u001b");
            assertThat(rest.out()).isEmpty();
        }
    }

    @Test
    void whatNoSettingOpensIsSaidWhenTheStateIsSaved() throws IOException {
        Path gguf = folder.resolve("a.gguf");
        Checkpoint.save(gguf, Map.of("t", Tensor.zeros(DType.FLOAT32, 8)));
        Path rest = withRest(gguf);
        Path out = folder.resolve("out.croft");
        Invocation converted = Invocation.of("convert", rest, out);
        assertThat(converted.code()).isZero();
        assertThat(converted.err())
                .contains(rest + ": not in the state: what is behind the last tensor, 8 B at byte");
        assertThat(Invocation.of("verify", rest).code()).isEqualTo(4);
        assertThat(Invocation.of("verify", out).code()).isZero();
    }
}
