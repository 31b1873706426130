package io.undercroft.properties.formats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.cli.internal.inspect.TextReport;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.OddGeometry;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/// A way to write a state as a file, and what every way owes: a file that it makes can be opened, verified and shown,
/// and what could not be is refused by path before there is a file.
///
/// @param name what it is called
/// @param fileName what its files are called
/// @param action writes a file
/// @param opening completes the options that a file is opened with
public record Writer(String name, String fileName, Action action, UnaryOperator<OpenOptions> opening) {
    /// The largest file that a state may become whose storages have a few hundred bytes.
    private static final long LARGEST = 8 << 20;

    /// Writes a file.
    @FunctionalInterface
    interface Action {
        void write(Path path, Object state) throws IOException;
    }

    /// {@return every way there is}
    public static List<Writer> all() {
        Stream<Writer> ours = Stream.of(
                new Writer("croft", "a.croft", Checkpoint::save, options -> options),
                new Writer("safetensors-index", "a.safetensors.index.json", Checkpoint::save, options -> options),
                new Writer("torch-dcp", ".metadata",
                        (path, state) -> Checkpoint.save(path, state, SaveOptions.defaults().format("torch-dcp")),
                        options -> options));
        Stream<Writer> foreign = Arrays.stream(Dialect.values())
                .map(dialect -> new Writer(dialect.toString(), "a", dialect::write, _ -> dialect.opening()));
        return Stream.concat(ours, foreign).toList();
    }

    /// Writes a state, and opens, verifies and shows the file in every way.
    ///
    /// @param tensors the state
    /// @param scratch where; empty before and after
    /// @return whether the state was written and not refused
    /// @throws AssertionError if the file cannot be read, or the refusal is not a good one
    public boolean check(SequencedMap<String, Tensor> tensors, Scratch scratch) throws IOException {
        Path path = scratch.file(fileName);
        // An npy file holds one tensor.
        Object state = name.equals(Dialect.NPY.toString()) ? tensors.firstEntry().getValue() : tensors;
        try {
            action.write(path, state);
        } catch (IllegalArgumentException e) {
            assertThat(e).message().containsAnyOf(OddGeometry.ODD, "the state");
            assertThat(scratch.directory()).isEmptyDirectory();
            return false;
        }
        try {
            assertThat(Files.size(path)).isLessThan(LARGEST);
            for (UnaryOperator<OpenOptions> way : List.<UnaryOperator<OpenOptions>>of(options -> options,
                    OpenOptions::onMeta, OpenOptions::inMemory)) {
                read(path, way.apply(opening.apply(OpenOptions.defaults())), state);
            }
            readPart(path, state);
        } finally {
            scratch.clear();
        }
        return true;
    }

    private void read(Path path, OpenOptions options, Object state) throws IOException {
        Set<String> names = StateIndex.of(state).tensors().keySet();
        try (Checkpoint opened = Checkpoint.open(path, options)) {
            assertThat(opened.names()).containsExactlyInAnyOrderElementsOf(names);
            names.forEach(opened::tensor);
            assertThat(opened.verify().damages()).isEmpty();
            Inspection inspection = new Inspection(opened, null, List.of());
            JsonReport.print(inspection, new JsonFiles(new TextOutput(new ByteArrayOutputStream()), 1));
            TextReport.print(inspection, new TextOutput(new ByteArrayOutputStream()));
            if (name.equals("croft")) {
                StateIndex.of(state).tensors().forEach((tensor, saved) -> sameGeometry(saved, opened.tensor(tensor)));
            }
        } catch (RuntimeException e) {
            fail("%s wrote what it does not read: %s".formatted(name, e), e);
        }
    }

    private void readPart(Path path, Object state) throws IOException {
        if (state instanceof Tensor) {
            return;
        }
        OpenOptions options = opening.apply(OpenOptions.defaults()).only(OddGeometry.USUAL::equals);
        try (Checkpoint opened = Checkpoint.open(path, options)) {
            assertThat(opened.tensor(OddGeometry.USUAL).toFloatArray()).containsExactly(1, 2);
        }
    }

    private static void sameGeometry(Tensor saved, Tensor opened) {
        assertThat(opened.shape()).isEqualTo(saved.shape());
        assertThat(opened.stride()).isEqualTo(saved.stride());
        assertThat(opened.storageOffset()).isEqualTo(saved.storageOffset());
        assertThat(opened.dtype()).isEqualTo(saved.dtype());
        assertThat(opened.storage().nbytes()).isEqualTo(saved.storage().nbytes());
    }

    /// {@return the name}
    @Override
    public String toString() {
        return name;
    }
}
