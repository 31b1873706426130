package io.undercroft.properties.formats;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.properties.Repository;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/// A file that is to be damaged.
///
/// @param name where it comes from
/// @param format the name of the format that it is taken for
/// @param bytes all of it
@SuppressWarnings("ArrayRecordComponent")
public record Specimen(String name, String format, byte[] bytes) {
    /// Larger ones take too long to damage thousands of times.
    private static final long SMALL = 40 << 10;
    private static final List<String> FOLDERS = List.of("pytorch", "safetensors", "numpy", "gguf", "onnx", "torch7");
    private static final Path DISTRIBUTED = Repository.path("test-support/fixtures/pytorch/dcp/two");
    private static final int MADE = 6;
    private static final int NUMBERS = 120;

    /// {@return the small files of the repository in formats of others, malformed ones among them, those of
    /// [PickleSpecimens], and some that [Dialect] makes}
    public static List<Specimen> all(long seed, Scratch scratch) throws IOException {
        List<Specimen> specimens = new ArrayList<>();
        for (String folder : FOLDERS) {
            try (Stream<Path> files = Files.walk(Repository.path("test-support/fixtures/" + folder))) {
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    add(specimens, file);
                }
            }
        }
        specimens.addAll(PickleSpecimens.all());
        specimens.addAll(made(seed, scratch));
        specimens.add(index("safetensors-index", ".safetensors"));
        specimens.add(index("torch-index", ".pt"));
        specimens.add(new Specimen("a distributed checkpoint", "torch-dcp",
                Files.readAllBytes(DISTRIBUTED.resolve(".metadata"))));
        putCompanions(scratch);
        return specimens;
    }

    private static Specimen index(String format, String suffix) {
        return new Specimen("an index", format, """
                {"metadata": {"total_size": 17, "format": "pt"},
                 "weight_map": {"w": "one.st", "b": "two.st", "c": "two.st"}}"""
                .replace(".st", suffix).getBytes(UTF_8));
    }

    /// Puts the files that specimens refer to where they are opened.
    public static void putCompanions(Scratch scratch) throws IOException {
        for (String suffix : List.of(".safetensors", ".pt")) {
            Checkpoint.save(scratch.file("one" + suffix), Map.of("w", Tensor.of(1f, 2f)));
            Checkpoint.save(scratch.file("two" + suffix), Map.of("b", Tensor.of(3L), "c", Tensor.of(true)));
        }
        List<Path> companions = new ArrayList<>(List.of(
                Repository.path("test-support/fixtures/onnx/external.onnx.data")));
        try (Stream<Path> files = Files.list(DISTRIBUTED)) {
            files.filter(file -> file.toString().endsWith(".distcp")).forEach(companions::add);
        }
        for (Path file : companions) {
            Files.copy(file, scratch.file(file.getFileName().toString()), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    /// {@return files that [Dialect] makes}
    private static List<Specimen> made(long seed, Scratch scratch) throws IOException {
        List<Specimen> specimens = new ArrayList<>();
        SplittableRandom random = new SplittableRandom(seed);
        for (Dialect dialect : Dialect.values()) {
            for (int i = 0; i < MADE; i++) {
                List<Integer> numbers = random.ints(NUMBERS, 0, 1 << 20).boxed().toList();
                scratch.clear();
                var sketch = new ForeignSketch(dialect, false, List.of(numbers), List.of());
                var written = Written.of(dialect, sketch.make(), scratch);
                if (written.isPresent() && Files.size(written.get().path()) <= SMALL) {
                    specimens.add(new Specimen(dialect + " " + i, dialect.format(),
                            Files.readAllBytes(written.get().path())));
                }
            }
        }
        return specimens;
    }

    private static void add(List<Specimen> specimens, Path file) throws IOException {
        if (Files.size(file) > SMALL || Files.size(file) == 0) {
            return;
        }
        try (MappedFile mapped = MappedFile.open(file, MapMode.READ_ONLY)) {
            for (CheckpointFormat format : Checkpoint.formats()) {
                if (format.matches(mapped)) {
                    specimens.add(new Specimen(file.getFileName().toString(), format.name(),
                            Files.readAllBytes(file)));
                    return;
                }
            }
        }
    }
}
