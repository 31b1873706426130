package io.undercroft.spark.internal.jobs;

import io.undercroft.serializer.CheckpointFile;
import io.undercroft.serializer.Retention;
import io.undercroft.spark.internal.files.DataFile;
import io.undercroft.spark.internal.jobs.FileResult.Status;
import java.io.IOException;
import java.nio.file.Path;

/// Drops the older snapshots of a file.
///
/// @param keep how many snapshots stay
record CompactTask(int keep) implements FileTask {
    @Override
    public FileResult run(DataFile file) throws IOException {
        Path path = file.local().orElseThrow(() -> new IllegalArgumentException("files in stores cannot be compacted, "
                + "as they are sealed; compact the file where it was written, and copy it"));
        try (CheckpointFile growing = CheckpointFile.open(path)) {
            long saved = growing.compact(Retention.last(keep));
            return new FileResult(file.toString(), saved == 0 ? Status.CURRENT : Status.OK, null, file.toString(),
                    file.nbytes(), file.nbytes() - saved);
        }
    }
}
