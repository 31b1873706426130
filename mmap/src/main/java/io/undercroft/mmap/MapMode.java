package io.undercroft.mmap;

/// The access that a mapping allows, and the visibility of writes to it.
public enum MapMode {
    /// Reading only: writing to a segment throws [IllegalArgumentException].
    READ_ONLY,
    /// Reading and writing, copy-on-write: what is written stays in this mapping and the file is untouched. The
    /// default of PyTorch's `from_file` (`shared=False`) and of Torch7's mapped storages.
    PRIVATE,
    /// Reading and writing: what is written reaches the file and every other process that maps it.
    SHARED
}
