package io.undercroft.properties.crash;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/// Something that a writer did to a disk.
sealed interface DiskOperation {
    /// A file came to be, empty.
    record Create(Path path) implements DiskOperation {}

    /// Bytes were written, and are on the disk for certain only after a [Force] of the file.
    record Write(Path path, long offset, MemorySegment bytes, RecordingDisk.Way way) implements DiskOperation {}

    /// A file was cut, likewise.
    record Truncate(Path path, long size) implements DiskOperation {}

    /// All that was written to a file is on the disk.
    record Force(Path path) implements DiskOperation {}

    /// A force failed. What was written before may be on the disk or not, and no later force brings it there: the
    /// system regards it as written.
    record FailedForce(Path path) implements DiskOperation {}

    /// A file has another name; for certain only after a [ForceDirectory].
    record Rename(Path from, Path to) implements DiskOperation {}

    /// A name is gone.
    record Delete(Path path) implements DiskOperation {}

    /// The names in a directory are on the disk.
    record ForceDirectory(Path directory) implements DiskOperation {}
}
