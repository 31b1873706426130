package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.ExportOptions;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.internal.disk.AtomicFile;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.graph.Lowering;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Draft;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/// Writes states as files of other formats.
public final class Exporter {
    private final Disk disk;

    /// A writer.
    ///
    /// @param disk the file system to write to
    public Exporter(Disk disk) {
        this.disk = disk;
    }

    /// Writes a state; see [io.undercroft.serializer.Checkpoint#export].
    ///
    /// @param path the file to make or replace
    /// @param state the root of the tree
    /// @param options what else to write, and how
    /// @throws IOException if writing fails; nothing is left behind
    public void write(Path path, @Nullable Object state, ExportOptions options) throws IOException {
        CheckpointFormat format = Formats.forWriting(path, options.format().orElse(null));
        Draft draft = format.draft(Lowering.of(state, options.classes()), options);
        CroftWriter.guarded(path, () -> CroftWriter.replacing(path, () -> {
            write(path, draft, options);
            return path;
        }));
    }

    private void write(Path path, Draft draft, ExportOptions options) throws IOException {
        try (AtomicFile file = AtomicFile.create(path, disk);
                BlockOutput output = new BlockOutput(file, draft.nbytes(), options.progress())) {
            draft.writeTo(output);
            output.finish();
            file.commit();
        }
    }
}
