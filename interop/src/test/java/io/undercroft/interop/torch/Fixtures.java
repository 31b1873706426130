package io.undercroft.interop.torch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/// Files written by real PyTorch, and what is in their manifests.
final class Fixtures {
    static final Path PYTORCH = Path.of("..", "test-support", "fixtures", "pytorch");
    static final Path MODELS = Path.of("..", "test-support", "fixtures", "models");

    private Fixtures() {}

    /// What a test does with an open file.
    interface Use {
        void accept(Contents contents) throws IOException;
    }

    static void open(Path path, Use use) throws IOException {
        open(path, OpenOptions.defaults(), use);
    }

    static void open(Path path, OpenOptions options, Use use) throws IOException {
        try (MappedFile file = MappedFile.open(path, options.mapping())) {
            use.accept(format(path).open(file, options));
        }
    }

    /// The format that the name of a fixture says.
    static CheckpointFormat format(Path path) {
        String name = path.getFileName().toString();
        return name.endsWith("legacy.pt")
                ? new TorchLegacyFormat()
                : name.endsWith(".tar.pt") ? new TorchTarFormat() : new TorchZipFormat();
    }

    static boolean matches(Path path) throws IOException {
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            return format(path).matches(file);
        }
    }

    static List<String> names(String pattern) {
        try (Stream<Path> files = Files.list(PYTORCH)) {
            return files.map(path -> path.getFileName().toString()).filter(name -> name.matches(pattern)).sorted()
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

    static String sha256(Storage storage) {
        return sha256(storage.segment());
    }

    static String sha256(Tensor tensor) {
        return sha256(tensor.contiguous().bytes());
    }

    private static String sha256(MemorySegment bytes) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(bytes.asByteBuffer());
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
