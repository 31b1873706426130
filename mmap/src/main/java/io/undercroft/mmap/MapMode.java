package io.undercroft.mmap;

/// The access that a mapping allows, and the visibility of writes to it.
public enum MapMode {
    /// Read-only: writes to a segment throw an [IllegalArgumentException].
    READ_ONLY,
    /// Copy-on-write: writes are visible in this mapping only, and never reach the file. The default of PyTorch's
    /// `from_file` (`shared=False`) and of Torch7's mapped storages.
    PRIVATE,
    /// Reading and writing: what is written reaches the file and every other process that maps it.
    SHARED
}
