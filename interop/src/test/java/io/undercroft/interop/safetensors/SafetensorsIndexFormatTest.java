package io.undercroft.interop.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Models in several files.
class SafetensorsIndexFormatTest {
    private static final String MAP = "{'metadata':{'total_size':20,'by':'us','more':[1]},"
            + "'weight_map':{'c':'2.safetensors','a':'1.safetensors','b':'1.safetensors'}}\n";

    @TempDir
    private Path top;
    private Path folder;
    private Path index;

    @BeforeEach
    void write() throws IOException {
        folder = Files.createDirectory(top.resolve("model"));
        Tensor a = Tensor.of(1f, 2f);
        Map<String, Tensor> first = new LinkedHashMap<>();
        first.put("a", a);
        first.put("b", Tensor.of(3f));
        first.put("tied", a);
        first.put("extra", Tensor.of(4f));
        Checkpoint.save(folder.resolve("1.safetensors"), first);
        Checkpoint.save(folder.resolve("2.safetensors"), Map.of("c", Tensor.of(5L)));
        index = write(MAP);
    }

    private Path write(String json) throws IOException {
        return Files.writeString(folder.resolve("model.safetensors.index.json"), json.replace('\'', '"'));
    }

    @Test
    void theShardsAreOneState() throws IOException {
        Storage kept;
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.format()).isEqualTo("safetensors-index");
            assertThat(c.names()).containsExactly("c", "a", "b", "tied");
            assertThat(c.metadata()).isEqualTo(Map.of("total_size", "20", "by", "us"));
            assertThat(c.tensor("tied")).isSameAs(c.tensor("a"));
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
            assertThat(c.verify().damages()).isEmpty();
            kept = c.tensor("b").storage().retain();
        }
        assertThat(Tensor.of(kept, DType.FLOAT32, 0, Shape.of(1), 1)
                .getFloat(0)).isEqualTo(3);
        kept.release();
    }

    /// As huggingface_hub writes tied tensors of a set.
    @Test
    void furtherNamesMayStandInTheIndex() throws IOException {
        write("{'metadata':{'total_size':8,'head':'a','by':'c','format':'a'},'weight_map':{'a':'1.safetensors',"
                + "'b':'1.safetensors'}}");
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.names()).containsExactly("a", "b", "head", "tied");
            assertThat(c.tensor("head")).isSameAs(c.tensor("a"));
            assertThat(c.metadata()).isEqualTo(Map.of("total_size", "8", "by", "c", "format", "a"));
        }
        try (Checkpoint c = Checkpoint.open(index, OpenOptions.defaults().only("head"))) {
            assertThat(c.names()).containsExactly("head");
            assertThat(c.tensor("head").getFloat(1)).isEqualTo(2);
        }
        try (Checkpoint c = Checkpoint.open(index,
                OpenOptions.defaults().setting("safetensors.sharing", "ignore"))) {
            assertThat(c.names()).containsExactly("a", "b");
            assertThat(c.metadata()).containsEntry("head", "a");
        }
    }

    private FormatException refusal() {
        return assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(index).close())
                .satisfies(e -> assertThat(e.getMessage()).doesNotContain("\n")).actual();
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "../1.safetensors", "/1.safetensors", "a\\1.safetensors", "..", ".", "", " ", ".1.safetensors", "C:1",
            "a\\u0000.safetensors", "sub/1.safetensors", "3.safetensors", "sub"
    })
    void aPathIsRefused(String path) throws IOException {
        Files.createDirectory(folder.resolve("sub"));
        write("{'weight_map':{'b':'1.safetensors','a':'" + path.replace("\\1", "\\\\1") + "'}}");
        assertThat(refusal().code()).isIn("SHARD-INDEX", "SHARD");
    }

    @ParameterizedTest
    @ValueSource(strings = {"./1.safetensors", "././1.safetensors", "sub/../1.safetensors",
            "a/b/../.././1.safetensors"})
    void aPathThatLeadsToTheDirectoryOfTheIndexIsRead(String path) throws IOException {
        write("{'metadata':null,'weight_map':{'b':'1.safetensors','a':'" + path + "'}}");
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.tensor("a").toFloatArray()).containsExactly(1, 2);
            assertThat(c.files()).hasSize(2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"../../1.safetensors", "./../1.safetensors", "a/../../1.safetensors", "/../1.safetensors",
            "a/..", "a//../1.safetensors"})
    void aPathThatLeadsElsewhereIsRefused(String path) throws IOException {
        write("{'weight_map':{'b':'1.safetensors','a':'" + path + "'}}");
        assertThat(refusal()).hasMessageContaining("is no plain name of a file");
    }

    @Test
    void aShardThatIsALinkToAMissingFileIsNamedWithItsTarget() throws IOException {
        Files.delete(folder.resolve("2.safetensors"));
        Files.createSymbolicLink(folder.resolve("2.safetensors"), Path.of("../blobs/0af3"));
        assertThat(refusal()).hasMessageContaining("'2.safetensors' is a link to '../blobs/0af3', which is missing");
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.safetensors.index.fp16.json", "diffusion_pytorch_model.safetensors.index.json",
            "diffusion_pytorch_model.safetensors.index.bf16.json", "other.safetensors.index.8bit.json"})
    void aDirectoryIsOpenedByTheIndexOfAVariant(String name) throws IOException {
        Files.move(index, folder.resolve(name));
        try (Checkpoint c = Checkpoint.open(folder)) {
            assertThat(c.path()).isEqualTo(folder.resolve(name));
            assertThat(c.format()).isEqualTo("safetensors-index");
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
        }
    }

    @Test
    void filesThatTheIndexDoesNotNameAreReported() throws IOException {
        for (String name : List.of("model-00001-of-00002.safetensors", "weights-2-of-2.safetensors",
                "notes.safetensors",
                "model.txt")) {
            Files.writeString(folder.resolve(name), "no tensors");
        }
        try (Checkpoint c = Checkpoint.open(folder)) {
            assertThat(c.names()).contains("a", "b", "c");
            assertThat(c.unread()).extracting(UnreadPart::what).contains("2 files next to the index that it does not "
                    + "name: 'model-00001-of-00002.safetensors', 'weights-2-of-2.safetensors'");
        }
    }

    @Test
    void aNameTooLongForAFileIsRefused() throws IOException {
        write("{'weight_map':{'a':'" + "x".repeat(10_000) + ".safetensors'}}");
        assertThat(refusal()).hasMessageContainingAll("SHARD-INDEX", index.toString(), "xxx");
    }

    /// Whether Java can make a path of a name depends on the locale that it was started in.
    @Test
    @EnabledOnOs(OS.LINUX)
    void aNameThatTheLocaleHasNoBytesForIsRefused() throws IOException {
        write("{'weight_map':{'a':'\u00fc.safetensors'}}");
        ProcessBuilder java = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                SafetensorsIndexFormatTest.class.getName(), index.toString()).redirectErrorStream(true);
        java.environment().put("LC_ALL", "C");
        assertThat(java.start().inputReader().lines().toList()).last().asString().startsWith("SHARD-INDEX")
                .contains("no file here can have");
    }

    /// Tells how the index is refused.
    public static void main(String[] args) throws IOException {
        try (Checkpoint c = Checkpoint.open(Path.of(args[0]))) {
            System.out.println(c);
        } catch (FormatException e) {
            System.out.println(e.code() + " " + e.what());
        }
    }

    @Test
    void theIndexIsNoShardOfItself() throws IOException {
        write("{'weight_map':{'a':'1.safetensors','b':'model.safetensors.index.json'}}");
        assertThat(refusal()).hasMessageContainingAll("a shard of 'model.safetensors.index.json'",
                "none of the formats [safetensors]");
    }

    @Test
    void aMillionNamesAreReadAndTheFirstThatIsNotThereIsNamed() throws IOException {
        StringBuilder map = new StringBuilder("{'weight_map':{'a':'1.safetensors'");
        for (int i = 0; i < 1_000_000; i++) {
            map.append(",'t").append(i).append("':'1.safetensors'");
        }
        write(map.append("}}").toString());
        assertThat(refusal()).hasMessageContainingAll("'t0'", "'1.safetensors'");
    }

    @Test
    void anIndexOverTheLimitIsRefusedBeforeItIsRead() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(index.toFile(), "rw")) {
            file.setLength(100_000_001);
        }
        assertThat(refusal()).hasMessageContaining("100000001 bytes and not up to");
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "{}", "{'weight_map':{}}", "{'weight_map':{'a':'1.bin'}}", "{'weight_map':['a','1.safetensors']}",
            "{'weight_map':3}", "{'x':'weight_map','y':'1.safetensors'}", "{'x':{'weight_map':{'a':'1.safetensors'}}}",
            "\ufeff{'weight_map':{'a':'1.safetensors'}}", "[{'weight_map':{'a':'1.safetensors'}}]"
    })
    void otherJsonIsNotClaimed(String json) throws IOException {
        write(json);
        try (MappedFile file = MappedFile.open(index, MapMode.READ_ONLY)) {
            assertThat(new SafetensorsIndexFormat().matches(file)).isFalse();
        }
    }

    @Test
    void aByteOrderMarkIsNoPartOfJson() throws IOException {
        write('\ufeff' + MAP);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(index, OpenOptions.defaults().format("safetensors-index")))
                .withMessageContaining("'{' is due");
    }

    @Test
    void theFilesOfTheSetAreTold() throws IOException {
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.files()).containsExactly(index, folder.toRealPath().resolve("2.safetensors"),
                    folder.toRealPath().resolve("1.safetensors"));
        }
    }

    @Test
    void damageIsToldWithItsShard() throws IOException {
        Tensor base = Tensor.of(1f, 2f, 3f);
        Path shard = folder.resolve("2.safetensors");
        Checkpoint.save(shard, new LinkedHashMap<>(Map.of("c", base, "view", base.narrow(0, 0, 1))));
        byte[] bytes = Files.readAllBytes(shard);
        bytes[bytes.length - 1] ^= 1;
        Files.write(shard, bytes);

        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.verify().damages()).singleElement()
                    .matches(damage -> damage.where().equals("tensor view in the shard 2.safetensors"));
            assertThat(c.verify().unverifiedBytes()).isEqualTo(16 + 16);
        }
    }

    @Test
    void aLinkIsFollowedOnlyBelowADirectoryThatTheCallerNames() throws IOException {
        Path blobs = Files.createDirectory(top.resolve("blobs"));
        Files.move(folder.resolve("2.safetensors"), blobs.resolve("abc"));
        Files.createSymbolicLink(folder.resolve("2.safetensors"), Path.of("../blobs/abc"));
        assertThat(refusal()).hasMessageContainingAll("2.safetensors", "OpenOptions.root");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(index, OpenOptions.defaults().root(folder)));
        assertOpensBelowTheTop();
    }

    private void assertOpensBelowTheTop() throws IOException {
        try (Checkpoint c = Checkpoint.open(index, OpenOptions.defaults().root(top))) {
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
        }
    }

    /// So it is in the cache of the Hugging Face hub.
    @Test
    void theIndexMayBeALinkToo() throws IOException {
        Path blobs = Files.createDirectory(top.resolve("blobs"));
        for (String name : List.of("1.safetensors", "2.safetensors", "model.safetensors.index.json")) {
            Files.move(folder.resolve(name), blobs.resolve("blob-" + name));
            Files.createSymbolicLink(folder.resolve(name), Path.of("../blobs/blob-" + name));
        }
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
        }
        assertOpensBelowTheTop();

        Path elsewhere = Files.createDirectory(top.resolve("elsewhere"));
        Files.move(blobs.resolve("blob-2.safetensors"), elsewhere.resolve("x"));
        Files.createSymbolicLink(blobs.resolve("blob-2.safetensors"), Path.of("../elsewhere/x"));
        assertThat(refusal()).hasMessageContaining("OpenOptions.root");
        assertOpensBelowTheTop();
    }

    @Test
    void aLinkToAnIndexFindsTheShardsBesideTheIndex() throws IOException {
        index = Files.createSymbolicLink(top.resolve("link.json"), index);
        try (Checkpoint c = Checkpoint.open(index)) {
            assertThat(c.tensor("c").getLong(0)).isEqualTo(5);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "{'weight_map':{}}", "{'weight_map':{'c':'1.safetensors'}}", "{'weight_map':{'none':'2.safetensors'}}",
            "{'weight_map':{'a':'1.safetensors','a':'1.safetensors'}}", "{'x':'weight_map','weight_map' : 3}",
            "{'weight_map':{'a':1}}", "{'weight_map':{'a':'1.safetensors'}",
            "{'x':1,'weight_map':{'a':'1.safetensors'}}x"
    })
    void anIndexThatDoesNotFitIsRefused(String json) throws IOException {
        write(json);
        assertThat(refusal()).hasMessageContaining(index.toString());
    }

    @Test
    void aPointerOfGitLfsInPlaceOfAShardIsRefusedAsOne() throws IOException {
        Path shard = folder.resolve("2.safetensors");
        Files.writeString(shard, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
        assertThat(refusal()).hasMessageContainingAll(shard.toRealPath().toString(),
                "a shard of 'model.safetensors.index.json': this is a pointer of Git LFS and not the file itself",
                "[SHARD]", "git lfs pull");
    }

    @Test
    void aDamagedShardIsNamed() throws IOException {
        Path shard = folder.resolve("2.safetensors");
        Files.write(shard, Arrays.copyOf(Files.readAllBytes(shard), 40));
        assertThat(refusal()).hasMessageContainingAll(shard.toRealPath().toString(),
                "a shard of 'model.safetensors.index.json'");
        Files.writeString(shard, "not this");
        assertThat(refusal()).hasMessageContainingAll(shard.toRealPath().toString(), "none of the formats");
        Files.write(shard, new byte[0]);
        assertThat(refusal()).hasMessageContainingAll(shard.toRealPath().toString(), "none of the formats");
    }
}
