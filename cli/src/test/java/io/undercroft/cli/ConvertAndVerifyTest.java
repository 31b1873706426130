package io.undercroft.cli;

import static io.undercroft.cli.Invocation.TRAINING;
import static io.undercroft.cli.Invocation.torch;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ConvertAndVerifyTest {
    @TempDir
    Path folder;

    static Stream<Path> readableFiles() throws IOException {
        try (Stream<Path> files = Files.list(Invocation.FIXTURES.resolve("pytorch"))) {
            List<Path> readable = files.filter(file -> file.toString().endsWith(".pt"))
                    .filter(file -> !file.getFileName().toString()
                            .matches("(BAD|UNSAFE|UNSUPPORTED)_.*|.*\\.(legacy|tar)\\.pt"))
                    .sorted().toList();
            return Stream.concat(readable.stream(), Stream.of(TRAINING));
        }
    }

    @ParameterizedTest
    @MethodSource("readableFiles")
    void aConvertedFileShowsTheSameAsTheOriginal(Path original) throws IOException {
        Path converted = folder.resolve("converted.croft");

        Invocation conversion = Invocation.of("convert", original, converted);

        assertThat(conversion.err()).isEmpty();
        assertThat(withoutFormat(converted)).isEqualTo(withoutFormat(original));
        assertThat(Invocation.of("verify", original).code()).isZero();
        assertThat(Invocation.of("verify", converted).out()).contains("no damage found");
    }

    @Test
    void convertingTellsWhatItWrote() {
        Path converted = folder.resolve("out.croft");

        assertThat(Invocation.of("convert", TRAINING, converted).out()).contains("(torch-zip, 1.6 MiB) -> " + converted,
                "113 tensors on 112 storages");
    }

    record Step(int number, Instant at, Tensor weight) {}

    @Test
    void aFileOfAnotherProgramsObjectsIsShownConvertedAndVerifiedWithoutItsClasses() throws IOException {
        Path original = folder.resolve("objects.croft");
        Path converted = folder.resolve("converted.croft");
        StateClasses classes = StateClasses.of(Step.class);
        Checkpoint.save(original, Map.of("last", new Step(7, Instant.EPOCH, Tensor.of(1f))),
                SaveOptions.defaults().classes(classes));

        assertThat(Invocation.of("convert", original, converted).err()).isEmpty();

        assertThat(Invocation.of("inspect", original).out()).contains("last/weight", "Step of 3");
        assertThat(Invocation.of("verify", converted).out()).contains("no damage found");
        assertThat(withoutFormat(converted)).isEqualTo(withoutFormat(original));
        try (Checkpoint c = Checkpoint.open(converted, OpenOptions.defaults().classes(classes))) {
            Step step = (Step) c.state(Map.class).get("last");
            assertThat(step.number()).isEqualTo(7);
            assertThat(step.at()).isEqualTo(Instant.EPOCH);
        }
    }

    @Test
    void metadataIsKept() throws IOException {
        Path in = folder.resolve("in.croft");
        Path out = folder.resolve("out.croft");
        Checkpoint.save(in, List.of(), SaveOptions.defaults().metadata(Map.of("author", "me")));

        Invocation.of("convert", in, out);

        assertThat(Invocation.of("inspect", "--json", out).json().at("/metadata/author").asText()).isEqualTo("me");
        assertThat(Invocation.of("inspect", out).out()).contains("metadata  author = \"me\"");
    }

    @Test
    void aFileMayBeConvertedOntoItself() throws IOException {
        Path file = folder.resolve("same.croft");
        Invocation.of("convert", TRAINING, file);
        JsonNode before = withoutFormat(file);

        Invocation conversion = Invocation.of("convert --in-place", file, file);

        assertThat(conversion.code()).isZero();
        assertThat(withoutFormat(file)).isEqualTo(before);
    }

    @Test
    void anExistingOutputIsReplaced() throws IOException {
        Path file = folder.resolve("out.croft");
        Files.writeString(file, "something else");

        assertThat(Invocation.of("convert", torch("tied.pt"), file).code()).isZero();

        assertThat(Invocation.of("verify", file).code()).isZero();
        try (Stream<Path> left = Files.list(folder)) {
            assertThat(left).containsExactly(file);
        }
    }

    @Test
    void aFlippedBitIsFoundByVerify() throws IOException {
        Path file = folder.resolve("flipped.croft");
        Invocation.of("convert", TRAINING, file);
        flipped(file);

        Invocation verification = Invocation.of("verify", file);

        assertThat(verification.code()).isEqualTo(4);
        assertThat(verification.out()).isEmpty();
        assertThat(verification.err().lines()).allMatch(line -> line.startsWith("croft: " + file + ": "));
        assertThat(verification.err()).contains("are damaged", "1 damaged part. Take it from a backup");
    }

    /// Opening reads no elements, so damage to them shows only where they are read: it must not get fresh checksums.
    @Test
    void damagedElementsAreNotConverted() throws IOException {
        byte[] bytes = Files.readAllBytes(TRAINING);
        // In the middle of a storage's record.
        bytes[bytes.length / 2] ^= 0x10;
        Path file = Files.write(folder.resolve("flipped.pt"), bytes);
        Path output = Files.writeString(folder.resolve("out.croft"), "kept");

        Invocation refused = Invocation.of("convert", file, output);
        assertThat(refused.code()).isEqualTo(4);
        assertThat(refused.out()).isEmpty();
        assertThat(refused.err().lines()).singleElement().asString().contains("flipped.pt", "checksum", "at byte");
        assertThat(output).hasContent("kept");
        assertThat(Invocation.of("inspect", file).code()).isZero();
    }

    @Test
    void aFlippedBitIsRefusedByEveryCommandThatCopiesElements() throws IOException {
        Path file = folder.resolve("flipped.croft");
        Invocation.of("convert", TRAINING, file);
        byte[] bytes = flipped(file);
        Path growing = folder.resolve("growing.croft");
        Invocation.of("convert", Invocation.torch("tied.pt"), growing);
        byte[] before = Files.readAllBytes(growing);

        for (Invocation refused : List.of(Invocation.of("convert", file, folder.resolve("out.croft")),
                Invocation.of("convert", file, folder.resolve("out.pt")),
                Invocation.of("convert", "--part", "model", file, folder.resolve("out.safetensors")),
                Invocation.of("convert", "--part", "model", file, folder.resolve("out.npz")),
                Invocation.of("convert", "--part", "model", file, folder.resolve("out.gguf")),
                Invocation.of("convert", "--part", "model", file, folder.resolve("out.safetensors.index.json")),
                Invocation.of("convert", "--part", "model", file, folder.resolve("out.t7")),
                Invocation.of("append", growing, file),
                Invocation.of("convert", "--keep-bases", file, folder.resolve("out.croft")),
                Invocation.of("convert", "--self-contained", file, folder.resolve("out.croft")),
                Invocation.of("compact", file),
                Invocation.of("verify", file))) {
            assertThat(refused.code()).isEqualTo(4);
            assertThat(refused.out()).isEmpty();
            assertThat(refused.err()).contains("flipped.croft", "damage");
        }
        assertThat(folder.toFile().list()).containsExactlyInAnyOrder("flipped.croft", "growing.croft");
        assertThat(Files.readAllBytes(file)).isEqualTo(bytes);
        assertThat(Files.readAllBytes(growing)).isEqualTo(before);
    }

    /// Flips a bit of the embedding, which is the first and largest storage, and returns all bytes of the file.
    private static byte[] flipped(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            byte[] needle = checkpoint.storages().getFirst().segment().asSlice(1000, 64)
                    .toArray(ValueLayout.JAVA_BYTE);
            bytes[(int) find(bytes, needle)] ^= 0x10;
        }
        Files.write(file, bytes);
        return bytes;
    }

    private static long find(byte[] haystack, byte[] needle) {
        for (int at = 0; at + needle.length <= haystack.length; at++) {
            if (Arrays.equals(haystack, at, at + needle.length, needle, 0, needle.length)) {
                return at;
            }
        }
        throw new AssertionError("the bytes of the storage are not in the file");
    }

    /// Returns the parts of a report that conversion does not change: a `.croft` file does not list the classes of
    /// Python, and stores equal bytes once.
    private static JsonNode withoutFormat(Path file) throws IOException {
        ObjectNode json = (ObjectNode) Invocation.of("inspect", "--json", "--hash", file).json();
        ((ObjectNode) json.get("nbytes")).remove("disk");
        json.get("storages").forEach(storage -> ((ObjectNode) storage).remove("disk_nbytes"));
        return json.without(List.of("format", "foreign_classes"));
    }
}
