package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.Replacing;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.spi.Draft;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The files of one save, each of which appears under its name when it is complete. Closing deletes them unless the
/// last one was written, without which the others are useless.
final class FormatFiles implements AutoCloseable {
    private final Disk disk;
    private final WriteProgress progress;
    private final Replacing rule;
    private final List<Path> named = new ArrayList<>();
    private boolean complete;

    FormatFiles(Disk disk, WriteProgress progress, Replacing rule) {
        this.rule = rule;
        this.disk = disk;
        this.progress = progress;
    }

    /// An action between writing a file and renaming it to its name.
    @FunctionalInterface
    interface LastStep {
        void run() throws IOException;
    }

    void write(Target target, Draft draft) throws IOException {
        write(target, draft, () -> {}, () -> {});
    }

    /// Writes the last file.
    ///
    /// @param check whether the bytes that were written are those that should have been; what it throws ends the export
    void writeLast(Target target, Draft draft, LastStep check) throws IOException {
        try {
            write(target, draft, () -> {
                check.run();
                progress.finish();
            }, progress::commit);
        } finally {
            complete = named.contains(target.path());
        }
    }

    private void write(Target target, Draft draft, LastStep whenWritten, Runnable lastWord) throws IOException {
        try (AtomicFile file = AtomicFile.create(target, disk, rule);
                BlockOutput output = new BlockOutput(file, progress, draft.nbytes())) {
            draft.writeTo(output);
            output.finish();
            whenWritten.run();
            try {
                file.commit(lastWord);
            } finally {
                if (file.isNamed()) {
                    named.add(target.path());
                }
            }
        }
    }

    @Override
    public void close() throws IOException {
        if (!complete) {
            for (Path path : named) {
                disk.delete(path);
            }
        }
    }
}
