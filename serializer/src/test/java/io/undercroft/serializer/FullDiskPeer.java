package io.undercroft.serializer;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;

/// A process that tries to save and to append more than there is room for, and looks at what that leaves behind. It prints what the
/// failures said, or what is wrong.
final class FullDiskPeer {
    private static final int SMALL = 1 << 20;
    private static final int LARGE = 40 << 20;

    private final Path path;

    private FullDiskPeer(Path path) {
        this.path = path;
    }

    /// Runs it.
    ///
    /// @param args the file, which is saved first if it is not there
    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        Path path = Path.of(args[0]);
        System.out.println(new FullDiskPeer(path).run());
    }

    static Map<String, Object> state(int nbytes, long seed) {
        byte[] bytes = new byte[nbytes];
        new Random(seed).nextBytes(bytes);
        return Map.of("weight", Tensor.of(bytes));
    }

    private String run() throws IOException {
        if (!Files.exists(path)) {
            Checkpoint.save(path, state(SMALL, 1));
        }
        Map<String, Object> large = state(LARGE, 2);
        String saving = refused(() -> Checkpoint.save(path, large));
        String other = refused(() -> Checkpoint.save(path.resolveSibling("new.croft"), large));
        String appending = refused(() -> CroftFile.append(path, large, SaveOptions.defaults()));
        if (Files.isWritable(path.getParent())) {
            Checkpoint.save(path, state(SMALL, 3));
        }
        return String.join("; ", saving, other, appending);
    }

    @FunctionalInterface
    private interface Work {
        void run() throws IOException;
    }

    private String refused(Work work) throws IOException {
        byte[] before = Files.readAllBytes(path);
        try {
            work.run();
            return "WRONG: it was not refused";
        } catch (FileSystemException e) {
            if (!Arrays.equals(before, Files.readAllBytes(path))) {
                return "WRONG: the file has changed";
            }
            List<Path> left = left();
            return left.isEmpty() ? String.valueOf(e.getReason()) : "WRONG: left behind " + left;
        }
    }

    private List<Path> left() throws IOException {
        try (Stream<Path> files = Files.list(path.getParent())) {
            return files.filter(file -> !file.equals(path) && !file.endsWith("lost+found")).toList();
        }
    }
}
