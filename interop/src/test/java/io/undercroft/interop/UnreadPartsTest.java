package io.undercroft.interop;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Whatever stops reading before the end of a file says so, or refuses the file where the reference implementation
/// does.
class UnreadPartsTest {
    private static final byte[] REST = "\0\0rest".getBytes(ISO_8859_1);

    @TempDir
    private Path folder;

    private Path saved(String name, int size) throws IOException {
        Path path = folder.resolve(name);
        Object state = name.endsWith("npy")
                ? Tensor.ones(DType.FLOAT32, size)
                : Map.of("t", Tensor.ones(DType.FLOAT32, size));
        Checkpoint.save(path, state);
        return path;
    }

    private Path together(String name, Object... parts) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (Object part : parts) {
            all.writeBytes(part instanceof Path path ? Files.readAllBytes(path) : (byte[]) part);
        }
        return Files.write(folder.resolve(name), all.toByteArray());
    }

    private static List<UnreadPart> unread(Path path) throws IOException {
        return unread(path, OpenOptions.defaults());
    }

    private static List<UnreadPart> unread(Path path, OpenOptions options) throws IOException {
        try (Checkpoint c = Checkpoint.open(path, options)) {
            assertThat(c.names()).isNotEmpty();
            return c.unread();
        }
    }

    private static FormatException refusal(Path path) {
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(path).close());
        assertThat(refusal).as(path.toString()).isNotNull();
        return refusal;
    }

    @Test
    void whatIsWrittenHereHasNothingBesidesItsState() throws IOException {
        for (String name : List.of("a.pt", "a.safetensors", "a.npz", "a.npy", "a.gguf", "a.t7")) {
            assertThat(unread(saved(name, 3))).as(name).isEmpty();
        }
        Checkpoint.save(folder.resolve("a.croft"), Map.of("t", Tensor.ones(DType.FLOAT32, 3)));
        assertThat(unread(folder.resolve("a.croft"))).isEmpty();
    }

    /// A file of `GGUFWriter(split_max_tensors=2)`, whose metadata count from 0.
    private Path split(String name, int number, int count) throws IOException {
        TypedMap state = new TypedMap("gguf");
        state.put("a", Tensor.ones(DType.FLOAT32, 3));
        state.put("b", Tensor.ones(DType.FLOAT32, 3));
        state.attributes().put("split.no", new Typed("gguf:uint16", (long) number));
        state.attributes().put("split.count", new Typed("gguf:uint16", (long) count));
        state.attributes().put("split.tensors.count", 5);
        Checkpoint.save(folder.resolve(name), state);
        return folder.resolve(name);
    }

    @Test
    void aPartOfASplitModelSaysSo() throws IOException {
        for (String name : List.of("a.gguf", "model-00002-of-00003.gguf")) {
            assertThat(unread(split(name, 1, 3))).singleElement().isEqualTo(new UnreadPart(Kind.FILE,
                    "2 other files of the same model: this is file 2 of 3, with 2 of its 5 tensors"
                            + (name.equals("a.gguf")
                                    ? ""
                                    : "; open 'model-00001-of-00003.gguf' for the whole model"),
                    0, 0));
        }
        assertThat(unread(split("whole.gguf", 0, 1))).isEmpty();
        try (Checkpoint c = Checkpoint.open(split("a.gguf", 1, 3))) {
            assertThat(catchThrowableOfType(NoSuchElementException.class, () -> c.tensor("c")))
                    .hasMessageContaining("it may be in 2 other files of the same model: this is file 2 of 3");
        }
    }

    @Test
    void aNameThatCountsSaysThatTheFileIsAPart() throws IOException {
        for (String name : List.of("model-00001-of-00002.safetensors", "pytorch_model-00001-of-00002.pt",
                "model.fp16-00001-of-00002.gguf", "x-00001-of-00002.npz", "m-00001-of-00002.croft")) {
            assertThat(unread(saved(name, 3))).as(name).singleElement().isEqualTo(new UnreadPart(Kind.FILE,
                    "1 other file of the same model: this is file 1 of 2 by its name", 0, 0));
        }
        for (String name : List.of("model-00001-of-00001.safetensors", "a-1-of-2.safetensors",
                "a-00001-of-00002b.gguf", "a-00001-of-00002-b.npz")) {
            assertThat(unread(saved(name, 3))).as(name).isEmpty();
        }
    }

    @Test
    void aShardOfARunSaysThatItIsOneOfSeveral() throws IOException {
        for (int shards : new int[]{1, 4}) {
            Path path = folder.resolve("shard.croft");
            Checkpoint.save(path, Map.of("t", Tensor.ones(DType.FLOAT32, 3)), SaveOptions.defaults().run("r", shards));
            assertThat(unread(path)).extracting(UnreadPart::what).isEqualTo(shards == 1
                    ? List.of()
                    : List.of("3 other files of the same model: this is one of the 4 shards of a run"));
        }
    }

    @Test
    void aSetThatIsOpenedByItsIndexLacksNothing() throws IOException {
        Path index = folder.resolve("model.safetensors.index.json");
        Checkpoint.save(index, Map.of("a", Tensor.ones(DType.FLOAT32, 3), "b", Tensor.ones(DType.FLOAT32, 3)),
                SaveOptions.defaults().setting("safetensors.shard", "12"));
        assertThat(unread(folder.resolve("model-00001-of-00002.safetensors"))).hasSize(1);
        assertThat(unread(index)).isEmpty();
    }

    @Test
    void whatOthersWroteHasNothingBesidesItsState() throws IOException {
        for (String directory : List.of("pytorch", "safetensors", "numpy", "gguf", "models")) {
            List<Path> files;
            try (var all = Files.list(Path.of("..", "test-support", "fixtures", directory))) {
                files = all.filter(Files::isRegularFile).sorted().toList();
            }
            for (Path file : files) {
                try (Checkpoint c = Checkpoint.open(file)) {
                    assertThat(c.unread()).as(file.toString())
                            .allMatch(part -> part.what().startsWith("a TorchScript program"));
                } catch (FormatException | IllegalArgumentException _) {
                    // Made to be refused, or a description.
                }
            }
        }
    }

    @Test
    void whatFollowsAnArrayIsIgnoredAsNumpyDoes() throws IOException {
        Path array = saved("a.npy", 3);
        long end = Files.size(array);
        Path longer = together("longer.npy", array, new byte[]{7});

        assertThat(unread(longer)).containsExactly(
                new UnreadPart(Kind.BYTES, "what follows the array", end, 1));
        try (Checkpoint c = Checkpoint.open(longer)) {
            assertThat(c.tensor("").toFloatArray()).containsExactly(1, 1, 1);
            assertThat(c.storages().getFirst().nbytes()).isEqualTo(12);
            assertThat(c.verify().unverifiedBytes()).isEqualTo(12);
        }
    }

    @Test
    void whatTheReferenceImplementationRefusesIsRefused() throws IOException {
        assertThat(refusal(together("r.safetensors", saved("a.safetensors", 3), REST)).code())
                .isEqualTo("SAFETENSORS-LAYOUT");
        Path two = together("two.npy", saved("a.npy", 3), saved("b.npy", 2));
        assertThat(refusal(two)).hasMessageContainingAll("136 more follow", "numpy.savez");
    }

    @Test
    void whatFollowsAnArchiveIsReported() throws IOException {
        for (String name : List.of("a.pt", "a.npz")) {
            Path archive = saved(name, 3);
            long end = Files.size(archive);
            for (byte[] rest : List.of(REST, new byte[1 << 16])) {
                Path longer = together("r-" + name, archive, rest);
                assertThat(unread(longer)).containsExactly(
                        new UnreadPart(Kind.BYTES, "what is behind the archive", end, rest.length));
                try (Checkpoint c = Checkpoint.open(longer)) {
                    assertThat(c.tensor("t").toFloatArray()).containsExactly(1, 1, 1);
                    assertThat(c.verify().damages()).isEmpty();
                }
            }
            assertThat(refusal(together("r-" + name, archive, new byte[(1 << 16) + 1])).code()).isEqualTo("ZIP-END");
        }
    }

    /// `numpy.load` takes any archive; members that are no arrays are bytes to it.
    @Test
    void anArchiveOfArraysMayHaveOtherRecords() throws IOException {
        for (List<String> others : List.of(List.of("readme.txt"), List.of("dir/"), List.of("dir/", "dir/x.json"))) {
            for (boolean isFirst : new boolean[]{true, false}) {
                Path path = folder.resolve("mixed");
                try (var zip = new ZipOutputStream(Files.newOutputStream(path))) {
                    List<String> names = new ArrayList<>(others);
                    names.add(isFirst ? names.size() : 0, "t.npy");
                    for (String name : names) {
                        zip.putNextEntry(new ZipEntry(name));
                        zip.write(name.equals("t.npy")
                                ? Files.readAllBytes(saved("a.npy", 3))
                                : new byte[name.endsWith("/") ? 0 : 5]);
                    }
                }
                try (Checkpoint c = Checkpoint.open(path)) {
                    assertThat(c.format()).isEqualTo("npz");
                    assertThat(c.tensor("t").toFloatArray()).containsExactly(1, 1, 1);
                    String file = others.getLast();
                    assertThat(c.unread()).extracting(UnreadPart::what).isEqualTo(file.endsWith("/")
                            ? List.of()
                            : List.of("1 record that the state does not refer to: '" + file + "'"));
                }
            }
        }
    }

    @Test
    void bytesBehindAndBetweenTensorsOfGgufAreReported() throws IOException {
        Path plain = saved("a.gguf", 3);
        long padded = Math.ceilDiv(Files.size(plain), 32) * 32;
        Path aligned = together("aligned.gguf", plain, new byte[(int) (padded - Files.size(plain))]);
        assertThat(unread(aligned)).isEmpty();
        assertThat(unread(together("r.gguf", aligned, REST))).containsExactly(
                new UnreadPart(Kind.BYTES, "what is behind the last tensor", padded, REST.length));
    }

    @Test
    void whatStandsBeforeAnArchiveIsReportedOrRefused() throws IOException {
        Path first = saved("a.npz", 3);
        assertThat(unread(together("two.npz", first, saved("b.npz", 2)))).containsExactly(
                new UnreadPart(Kind.BYTES, "what is before the archive", 0, Files.size(first)));
        Path prefixed = together("before.pt", REST, saved("a.pt", 3));
        assertThat(unread(prefixed, OpenOptions.defaults().format("torch-zip"))).containsExactly(
                new UnreadPart(Kind.BYTES, "what is before the archive", 0, REST.length));
    }

    @Test
    void aRowOfArchivesIsToldFromADamagedOne() throws IOException {
        Path small = saved("a.pt", 3);
        byte[] archive = Files.readAllBytes(saved("b.pt", 300));
        // Written by torch.distributed.checkpoint of PyTorch 2.13.
        assertThat(refusal(Path.of("..", "test-support", "fixtures", "pytorch", "distributed", "__0_0.distcp")))
                .returns("TORCH-UNSUPPORTED", FormatException::code)
                .hasMessageContainingAll("a shard (.distcp) of a distributed checkpoint",
                        "Open the directory of the checkpoint");
        assertThat(refusal(together("row.pt", small, small, archive)))
                .returns("TORCH-UNSUPPORTED", FormatException::code).hasMessageContaining(".metadata");
        byte[] named = new String(Files.readAllBytes(small), ISO_8859_1).replace("archive/", "another/")
                .getBytes(ISO_8859_1);
        assertThat(refusal(together("two.pt", named, archive))).returns("TORCH-UNSUPPORTED", FormatException::code)
                .hasMessageContainingAll("two archives", "PyTorch may read the other one");

        // Bytes were added, as by a program that changes ends of lines, or a download was begun twice.
        byte[] start = Arrays.copyOf(archive, archive.length / 2);
        byte[] end = Arrays.copyOfRange(archive, archive.length / 2, archive.length);
        for (Path damaged : List.of(together("longer.pt", start, REST, end), together("begun.pt", start, archive))) {
            assertThat(refusal(damaged)).returns("TORCH-ARCHIVE", FormatException::code)
                    .hasMessageContaining("does not begin where its directory says")
                    .hasMessageNotContaining("two archives");
        }
        // Bytes are missing.
        assertThat(refusal(together("shorter.pt", start, Arrays.copyOfRange(end, 100, end.length))))
                .returns("ZIP-END", FormatException::code);
    }

    /// Copies a file of PyTorch and changes its records.
    private Path changed(String name, byte[] behindPickle, Map<String, byte[]> more) throws IOException {
        Path path = folder.resolve(name);
        try (ZipFile zip = new ZipFile(saved("a.pt", 3).toFile());
                OutputStream out = Files.newOutputStream(path);
                ZipOutputStream copy = new ZipOutputStream(out)) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                try (InputStream in = zip.getInputStream(entry)) {
                    in.transferTo(bytes);
                }
                if (entry.getName().endsWith("data.pkl")) {
                    bytes.writeBytes(behindPickle);
                }
                put(copy, entry.getName(), bytes.toByteArray());
            }
            for (Map.Entry<String, byte[]> record : more.entrySet()) {
                put(copy, record.getKey(), record.getValue());
            }
        }
        return path;
    }

    private static void put(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        ZipEntry entry = new ZipEntry(name);
        CRC32 crc = new CRC32();
        crc.update(bytes);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        zip.putNextEntry(entry);
        zip.write(bytes);
        zip.closeEntry();
    }

    @Test
    void recordsOfAnArchiveThatTheStateDoesNotReferToAreReported() throws IOException {
        assertThat(unread(changed("same.pt", new byte[0], Map.of()))).isEmpty();
        String root = "archive";
        Path more = changed("more.pt", new byte[0], Map.of(root + "/data/99", REST, root + "/.data/x", REST));
        assertThat(unread(more)).singleElement().satisfies(part -> {
            assertThat(part.kind()).isEqualTo(Kind.RECORD);
            assertThat(part.what()).isEqualTo("1 record that the state does not refer to: 'archive/data/99'");
            assertThat(part.nbytes()).isEqualTo(REST.length);
        });
        assertThat(unread(more, OpenOptions.defaults().only("t"))).hasSize(1);
        assertThat(unread(changed("behind.pt", REST, Map.of()))).singleElement().satisfies(part -> {
            assertThat(part.what()).contains("behind the end of the pickle", "data.pkl");
            assertThat(part.nbytes()).isEqualTo(REST.length);
        });
    }

    @Test
    void theRestOfATarArchiveIsReported() throws IOException {
        Path tar;
        try (var all = Files.list(Path.of("..", "test-support", "fixtures", "pytorch"))) {
            tar = all.filter(path -> path.toString().endsWith(".tar.pt") || path.toString().endsWith(".tar")).sorted()
                    .findFirst().orElseThrow();
        }
        assertThat(unread(tar)).isEmpty();
        long size = Files.size(tar);
        assertThat(unread(together("rest.tar", tar, REST))).containsExactly(
                new UnreadPart(Kind.BYTES, "what is behind the archive", size + 2, REST.length - 2));
    }

    @Test
    void tensorsOfAShardThatTheIndexDoesNotNameAreReported() throws IOException {
        Checkpoint.save(folder.resolve("model-1.safetensors"),
                Map.of("a", Tensor.ones(DType.FLOAT32, 3), "hidden", Tensor.ones(DType.FLOAT32, 5)));
        Path index = folder.resolve("model.safetensors.index.json");
        Files.writeString(index, "{\"metadata\":{},\"weight_map\":{\"a\":\"model-1.safetensors\"}}", UTF_8);
        assertThat(unread(index)).containsExactly(new UnreadPart(Kind.RECORD,
                "1 value that the state does not refer to: 'hidden', in the shard 'model-1.safetensors'", 0, 20));
        Files.writeString(index, "{}", UTF_8, StandardOpenOption.APPEND);
        assertThat(refusal(index)).hasMessageContaining("after the end");
    }
}
