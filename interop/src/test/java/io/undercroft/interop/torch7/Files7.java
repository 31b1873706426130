package io.undercroft.interop.torch7;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/// Files that real Torch7 wrote, and files made by hand.
final class Files7 {
    static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "torch7");
    static final Path BAD = FIXTURES.resolve("bad");

    private Files7() {}

    /// A file that a description speaks of.
    ///
    /// @param json the description
    /// @param entry what it says of the file
    record Fixture(JsonNode json, JsonNode entry) {
        String name() {
            return entry.get("file").asText();
        }

        Path path() {
            return FIXTURES.resolve(name());
        }

        boolean isAscii() {
            return entry.get("mode").asText().equals("ascii");
        }

        OpenOptions told() {
            return OpenOptions.defaults().setting("torch7.encoding", isAscii() ? "ascii" : "binary")
                    .setting("torch7.order", entry.get("endian").asText())
                    .setting("torch7.longs", entry.get("longSize").asText());
        }

        SaveOptions asked() {
            return SaveOptions.defaults().setting("torch7.encoding", isAscii() ? "ascii" : "binary")
                    .setting("torch7.order", entry.get("endian").asText())
                    .setting("torch7.longs", entry.get("longSize").asText());
        }

        @Override
        public String toString() {
            return name();
        }
    }

    /// {@return every file that is in a description}
    static List<Fixture> fixtures() {
        try (Stream<Path> files = Files.list(FIXTURES)) {
            return files.filter(path -> path.toString().endsWith(".json") && !path.endsWith("conversions.json"))
                    .sorted()
                    .map(Files7::json)
                    .flatMap(json -> json.get("files").valueStream().map(entry -> new Fixture(json, entry)))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static JsonNode json(Path path) {
        try {
            return new ObjectMapper().readTree(path.toFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    interface Use {
        void accept(Contents contents) throws IOException;
    }

    static void open(Path path, OpenOptions options, Use use) throws IOException {
        try (MappedFile file = MappedFile.open(path, options.mapping())) {
            use.accept(new Torch7Format().open(file, options));
        }
    }

    static void open(Path path, Use use) throws IOException {
        open(path, OpenOptions.defaults(), use);
    }

    static boolean matches(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            return new Torch7Format().matches(file);
        }
    }

    static byte[] written(Object state, SaveOptions options) throws IOException {
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        Draft draft = new Torch7Format().draft(state, options);
        try (Output output = new Output((_, bytes) -> written.writeBytes(bytes.toArray(ValueLayout.JAVA_BYTE)), 0)) {
            draft.writeTo(output);
            output.flush();
        }
        return written.toByteArray();
    }

    static byte[] written(Object state) throws IOException {
        return written(state, SaveOptions.defaults());
    }
}
