package io.undercroft.cli.internal.quickstart;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Objects;
import java.util.stream.Stream;

/// The folder of the quickstart. It is deleted when it is closed, also when the process is interrupted.
final class Workspace implements AutoCloseable {
    private static final String CHECKPOINT = "tiny-gpt2-training.pt";
    private static final int ATTEMPTS = 100;

    private final Path folder;
    private final Thread onInterrupt = new Thread(this::clear, "quickstart clean-up");
    private boolean closed;

    private Workspace(Path folder) {
        this.folder = folder;
    }

    /// Makes the folder and puts the bundled checkpoint into it.
    static Workspace create() throws IOException {
        Workspace workspace = new Workspace(
                Files.createTempDirectory("croft-quickstart-" + ProcessHandle.current().pid() + "-"));
        try (InputStream bundled = Workspace.class.getResourceAsStream("/" + CHECKPOINT)) {
            Runtime.getRuntime().addShutdownHook(workspace.onInterrupt);
            Files.copy(Objects.requireNonNull(bundled, CHECKPOINT), workspace.torchFile());
            return workspace;
        } catch (IOException | IllegalStateException e) {
            // Illegal is to add a hook when the process is ending already.
            workspace.close();
            throw new IOException("the quickstart could not begin: " + e.getMessage(), e);
        }
    }

    /// Returns the checkpoint as `torch.save` wrote it.
    Path torchFile() {
        return folder.resolve(CHECKPOINT);
    }

    /// The path of the `.croft` file.
    Path croftFile() {
        return folder.resolve("tiny-gpt2-training.croft");
    }

    /// Returns a name for shared memory. As random as the folder's: processes in other containers may have the same
    /// number and the same /dev/shm.
    String sharedName() {
        return folder.getFileName().toString();
    }

    /// Returns whether the files were deleted, which an interrupt does while steps still run.
    synchronized boolean isClosed() {
        return closed;
    }

    @Override
    public void close() {
        clear();
        try {
            Runtime.getRuntime().removeShutdownHook(onInterrupt);
        } catch (IllegalStateException e) {
            // The process is ending, and the hook runs or has run.
        }
    }

    private synchronized void clear() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            deleteFolder();
        } catch (IOException e) {
            throw new UncheckedIOException("clean-up of " + folder + " failed", e);
        }
    }

    /// An interrupted process continues until its hooks have run, and may be creating a file.
    private void deleteFolder() throws IOException {
        for (int attempt = 1; Files.exists(folder); attempt++) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(file);
                }
            } catch (DirectoryNotEmptyException | UncheckedIOException e) {
                if (attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }
}
