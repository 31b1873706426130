package io.undercroft.interop.gguf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.ReferencedFileException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Models that are split into several files.
class SplitModelTest {
    @TempDir
    private Path folder;
    private Path first;

    @BeforeEach
    void write() throws IOException {
        first = part(1, 0, 3, 5, "a", "b");
        part(2, 1, 3, 5, "c", "d");
        part(3, 2, 3, 5, "e");
    }

    private static String name(int file) {
        return "model-0000" + file + "-of-00003.gguf";
    }

    /// Writes a file as `GGUFWriter` splits models.
    private Path part(int file, int number, int count, int tensors, String... names) throws IOException {
        TypedMap state = new TypedMap("gguf");
        for (String name : names) {
            state.put(name, Tensor.full(DType.FLOAT32, (long) name.charAt(0), 3));
        }
        if (number == 0) {
            state.attributes().put("general.name", "split");
        }
        state.attributes().put("split.no", new Typed("gguf:uint16", (long) number));
        state.attributes().put("split.count", new Typed("gguf:uint16", (long) count));
        state.attributes().put("split.tensors.count", tensors);
        Path path = folder.resolve(name(file));
        Checkpoint.save(path, state);
        return path;
    }

    private AbstractStringAssert<?> refusal() {
        return assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(first).close())
                .extracting(Throwable::getMessage).asString().doesNotContain("\n");
    }

    @Test
    void theFirstFileOpensTheModel() throws IOException {
        for (Path each : List.of(first, folder)) {
            try (Checkpoint c = Checkpoint.open(each)) {
                assertThat(c.format()).isEqualTo("gguf");
                assertThat(c.names()).containsExactly("a", "b", "c", "d", "e");
                assertThat(c.tensor("e").toFloatArray()).containsExactly('e', 'e', 'e');
                assertThat(c.metadata()).containsEntry("general.name", "split").doesNotContainKey("split.count");
                assertThat(c.unread()).isEmpty();
                assertThat(c.files()).extracting(file -> file.getFileName().toString()).containsExactly(name(1),
                        name(2), name(3));
                assertThat(c.extents(c.tensor("b").storage())).extracting(Extent::file).containsExactly(0);
                assertThat(c.extents(c.tensor("e").storage())).extracting(Extent::file).containsExactly(2);
                assertThat(c.verify().damages()).isEmpty();
                assertThat(c.verify().unverifiedBytes()).isEqualTo(60);
            }
        }
        try (Checkpoint c = Checkpoint.open(first, OpenOptions.defaults().only("d").inMemory())) {
            assertThat(c.names()).containsExactly("d");
            assertThat(c.storages()).hasSize(1);
        }
    }

    @Test
    void aFileThatIsCutWhileTheModelIsOpenIsDamaged() throws IOException {
        try (Checkpoint c = Checkpoint.open(first)) {
            try (FileChannel second = FileChannel.open(folder.resolve(name(2)), StandardOpenOption.WRITE)) {
                second.truncate(second.size() - 1);
            }
            assertThat(c.verify().damages()).singleElement().satisfies(damage -> {
                assertThat(damage.code()).isEqualTo("CUT");
                assertThat(damage.where()).isEqualTo("the file in the shard " + name(2));
            });
        }
    }

    @Test
    void theDirectoryOpensTheModelWhateverTheCaseOfTheSuffix() throws IOException {
        for (int file = 1; file <= 3; file++) {
            Path path = folder.resolve(name(file));
            Files.move(path, folder.resolve(name(file).replace(".gguf", ".GGUF")));
        }
        try (Checkpoint c = Checkpoint.open(folder)) {
            assertThat(c.names()).containsExactly("a", "b", "c", "d", "e");
        }
    }

    @Test
    void itIsSavedAsOneFileThatIsNotSplit() throws IOException {
        Path whole = folder.resolve("whole.gguf");
        try (Checkpoint c = Checkpoint.open(first)) {
            Checkpoint.save(whole, c.state());
            assertThatExceptionOfType(IOException.class)
                    .isThrownBy(() -> Checkpoint.save(folder.resolve(name(3)), c.state()));
        }
        try (Checkpoint c = Checkpoint.open(whole)) {
            assertThat(c.names()).containsExactly("a", "b", "c", "d", "e");
            assertThat(c.unread()).isEmpty();
            assertThat(c.metadata()).containsOnlyKeys("general.name");
        }
    }

    @Test
    void allFilesAreAdoptedAndProtected() throws IOException {
        Path thin = folder.resolve("thin.croft");
        try (Checkpoint c = Checkpoint.open(first)) {
            Checkpoint.save(thin, c.tree(), SaveOptions.defaults().base(first).wholeStorages());
            assertThatExceptionOfType(ReferencedFileException.class).isThrownBy(
                    () -> Checkpoint.save(folder.resolve(name(2)), new TypedMap("gguf")));
        }
        try (Checkpoint c = Checkpoint.open(thin, OpenOptions.defaults().root(folder))) {
            assertThat(c.bases()).hasSize(3);
            assertThat(c.tensor("a").getFloat(0)).isEqualTo('a');
            assertThat(c.tensor("e").getFloat(0)).isEqualTo('e');
        }
    }

    @Test
    void anotherFileSaysWhichOneOpensTheModel() throws IOException {
        try (Checkpoint c = Checkpoint.open(folder.resolve(name(2)))) {
            assertThat(c.names()).containsExactly("c", "d");
            assertThat(c.unread()).singleElement().extracting(UnreadPart::what).asString()
                    .contains("file 2 of 3", "open '" + name(1) + "' for the whole model");
        }
    }

    @Test
    void aFileThatDoesNotBelongToTheModelIsNamed() throws IOException {
        Path second = folder.resolve(name(2));
        byte[] bytes = Files.readAllBytes(second);
        Files.delete(second);
        refusal().contains("'" + name(2) + "' is missing", "SHARD-INDEX");
        part(2, 2, 3, 5, "e");
        refusal().contains(second.toString(), "GGUF-SPLIT", "file 3 of 3", "not file 2 of 3");
        part(2, 1, 4, 5, "c", "d");
        refusal().contains(second.toString(), "GGUF-SPLIT", "file 2 of 4");
        part(2, 1, 3, 7, "c", "d");
        refusal().contains(second.toString(), "a model with 7 tensors");
        part(2, 1, 3, 5, "c");
        refusal().contains("the files have 4 tensors and not 5");
        part(2, 1, 3, 5, "c", "a");
        refusal().contains("the tensor 'a' is in file 2 and in one before");
        Files.write(second, Arrays.copyOf(bytes, bytes.length - 40));
        refusal().contains(second.toString(), "a shard of '" + name(1) + "'", "reaches out of the file");
        Files.write(second, new byte[0]);
        refusal().contains(second.toString(), "GGUF-HEADER");
    }

    @TestFactory
    List<DynamicTest> filesOfPython() {
        return List.of(RealPython.with("gguf", "numpy").test("a model that GGUFWriter splits is read", python -> {
            Path there = Files.createDirectory(folder.resolve("python"));
            python.run("""
                    import gguf, numpy
                    writer = gguf.GGUFWriter(sys.argv[1] + '/m.gguf', 'llama', split_max_tensors=2)
                    writer.add_name('five')
                    for i in range(5):
                        writer.add_tensor(f't{i}', numpy.full((2, 3), i, dtype=numpy.float32))
                    writer.write_header_to_file()
                    writer.write_kv_data_to_file()
                    writer.write_tensors_to_file()
                    writer.close()
                    """, there);
            try (Checkpoint c = Checkpoint.open(there.resolve("m-00001-of-00003.gguf"))) {
                assertThat(c.names()).containsExactly("t0", "t1", "t2", "t3", "t4");
                assertThat(c.tensor("t4").getFloat(1, 2)).isEqualTo(4);
                assertThat(c.metadata()).containsEntry("general.name", "five").doesNotContainKey("split.no");
                assertThat(c.unread()).isEmpty();
            }
        }));
    }
}
