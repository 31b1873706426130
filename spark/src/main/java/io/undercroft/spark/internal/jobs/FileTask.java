package io.undercroft.spark.internal.jobs;

import io.undercroft.spark.internal.files.DataFile;
import java.io.IOException;
import java.io.Serializable;

/// What a job does with one file, on any machine. Spark may run it again after the machine was lost, while the first
/// run is still going on.
@FunctionalInterface
interface FileTask extends Serializable {
    /// Processes a file.
    ///
    /// @param file the file
    /// @return what became of it
    /// @throws IOException if it is not readable; the job reports that and goes on with the other files
    FileResult run(DataFile file) throws IOException;
}
