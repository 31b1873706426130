package io.undercroft.properties.fuzzing;

import io.undercroft.properties.Repository;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/// Inputs that earlier runs of a fuzzer found to reach code that others do not: an archive for each target.
final class Corpus {
    /// Of a target.
    private static final int MOST = 100;
    private static final long LARGEST = 4 << 10;

    private Corpus() {}

    /// {@return the inputs of a target in the repository; none if there is no archive}
    static List<byte[]> inputs(FuzzTarget target) throws IOException {
        Path archive = archive(Repository.path("property-tests/src/test/resources/corpus"), target);
        List<byte[]> inputs = new ArrayList<>();
        if (Files.exists(archive)) {
            try (InputStream file = Files.newInputStream(archive); ZipInputStream in = new ZipInputStream(file)) {
                for (ZipEntry entry = in.getNextEntry(); entry != null; entry = in.getNextEntry()) {
                    inputs.add(in.readAllBytes());
                }
            }
        }
        return inputs;
    }

    /// Writes inputs to a folder, a file for each.
    static void write(List<byte[]> inputs, Path folder) throws IOException {
        for (int i = 0; i < inputs.size(); i++) {
            Files.write(folder.resolve("input-" + i), inputs.get(i));
        }
    }

    /// Makes the archive of a target of the smallest files of a folder.
    ///
    /// @param to where the archives are
    static void pack(Path folder, FuzzTarget target, Path to) throws IOException {
        try (Stream<Path> files = Files.list(folder);
                OutputStream file = Files.newOutputStream(archive(Files.createDirectories(to), target));
                ZipOutputStream out = new ZipOutputStream(file)) {
            List<Path> smallest = files.filter(each -> each.toFile().length() <= LARGEST)
                    .sorted(Comparator.<Path>comparingLong(each -> each.toFile().length()).thenComparing(each -> each))
                    .limit(MOST).toList();
            for (int i = 0; i < smallest.size(); i++) {
                ZipEntry entry = new ZipEntry(String.valueOf(i));
                entry.setTime(0);
                out.putNextEntry(entry);
                out.write(Files.readAllBytes(smallest.get(i)));
            }
        }
    }

    private static Path archive(Path folder, FuzzTarget target) {
        return folder.resolve(target.fileName() + ".zip");
    }
}
