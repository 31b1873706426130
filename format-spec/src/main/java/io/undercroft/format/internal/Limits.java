package io.undercroft.format.internal;

/// Limits on what a reader accepts. A file over a limit is refused by rule V8 (or V7) before anything of that
/// size is allocated.
///
/// @param maxIndexBytes the largest index that has to be checked in one piece, in bytes
/// @param maxSummedIndexBytes the largest index with checksums of its blocks, in bytes
/// @param maxTensors the most tensors, and the most names
/// @param maxRank the most dimensions of a tensor, and of a shape in the state tree
/// @param maxSections the most sections of an index
/// @param maxBases the most other files in which bytes of a file may be
/// @param maxBaseDepth the maximum length of a chain of bases
/// @param maxDepth the deepest nesting of the state tree
/// @param maxNameBytes the longest name, string, element type or path, in bytes of UTF-8
/// @param maxExpansion the maximum number of bytes by which all storages together may exceed the size of the file
/// @param maxSnapshots the most snapshots that are walked when they are listed
/// @param maxShards the most files of a set
/// @param maxManifestBytes the largest manifest of a set, in bytes
public record Limits(long maxIndexBytes, long maxSummedIndexBytes, int maxTensors, int maxRank, int maxSections,
        int maxBases, int maxBaseDepth, int maxDepth, int maxNameBytes, long maxExpansion, int maxSnapshots,
        int maxShards, long maxManifestBytes) {
    /// The most element types of a snapshot: the record of a tensor has 16 bits for the number of its type.
    public static final int MAX_DTYPES = 1 << 16;
    /// The limits of section 15 of `SPEC.md`.
    public static final Limits DEFAULT = new Limits(256L << 20, 8L << 30, 1 << 24, 64, 256, 256, 7, 128, 4096, 1L << 46,
            1 << 16, 1 << 16, 512L << 20);
}
