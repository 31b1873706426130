package io.undercroft.serializer;

import static io.undercroft.testsupport.TestData.noise;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// A process that tries to save and to append more than there is space for, and looks at what that leaves behind. It
/// prints what the failures said, or what is wrong.
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
        FullDiskPeer peer = new FullDiskPeer(path);
        System.out.println(args.length == 1 ? peer.run() : peer.runWithoutSpace());
    }

    static Map<String, Object> state(int nbytes, long seed) {
        byte[] bytes = noise(nbytes, seed);
        return Map.of("weight", Tensor.of(bytes));
    }

    private String run() throws IOException {
        if (!Files.exists(path)) {
            Checkpoint.save(path, state(SMALL, 1));
        }
        Map<String, Object> large = state(LARGE, 2);
        String saving = refused(() -> Checkpoint.save(path, large));
        String other = refused(() -> Checkpoint.save(path.resolveSibling("new.croft"), large));
        String appending = refused(() -> CroftFile.open(path).commit(large, SaveOptions.defaults()));
        if (Files.isWritable(path.getParent())) {
            Checkpoint.save(path, state(SMALL, 3));
        }
        return String.join("; ", saving, other, appending);
    }

    /// A disk that other files have filled to its last byte: what frees space has to work, or to say how.
    private String runWithoutSpace() throws IOException {
        Path rest = path.resolveSibling("rest");
        Checkpoint.save(path, state(SMALL, 1));
        CroftFile.open(path).commit(state(SMALL, 2), SaveOptions.defaults());
        fill(rest);
        Map<String, Object> small = state(SMALL, 3);
        String appending = refused(() -> CroftFile.open(path).commit(small, SaveOptions.defaults()));
        String saving = refused(() -> Checkpoint.save(path, small));
        String compacting = refused(() -> CroftFile.open(path).compact(snapshot -> snapshot.sequence() == 2));
        try (CroftFile file = CroftFile.open(path)) {
            refused(() -> file.commit(small, "no space"));
            compacting += "; " + refused(() -> file.retain(Retention.last(1)));
            try (FileChannel channel = FileChannel.open(rest, StandardOpenOption.WRITE)) {
                channel.truncate(channel.size() - 2 * SMALL);
            }
            return file.retain(Retention.last(1)) > 0
                    ? String.join("; ", appending, saving, compacting)
                    : "WRONG: nothing was freed";
        }
    }

    private static void fill(Path rest) throws IOException {
        try (FileChannel channel = FileChannel.open(rest, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            ByteBuffer bytes = ByteBuffer.allocate(1 << 16);
            while (true) {
                try {
                    channel.write(bytes.clear());
                } catch (IOException _) {
                    break;
                }
            }
            bytes.limit(1);
            try {
                while (true) {
                    channel.write(bytes.rewind());
                }
            } catch (IOException _) {
                // Not one byte is left.
            }
        }
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
            return files.filter(file -> !file.equals(path) && !file.endsWith("lost+found")
                    && !file.endsWith("rest")).toList();
        }
    }
}
