package io.undercroft.format;

/// How much a reader is willing to believe. A file over a limit is refused by rule V8 (or V7) before anything of that
/// size is allocated.
///
/// @param maxIndexBytes the largest index, in bytes
/// @param maxTensors the most tensors, and the most names
/// @param maxRank the most dimensions of a tensor, and of a shape in the state tree
/// @param maxSections the most sections of an index
/// @param maxDepth the deepest nesting of the state tree
/// @param maxNameBytes the longest name, in bytes of UTF-8
/// @param maxExpansion how many bytes all storages together may have beyond the file's own size, in bytes
public record Limits(long maxIndexBytes, int maxTensors, int maxRank, int maxSections, int maxDepth, int maxNameBytes,
        long maxExpansion) {
    /// 256 MiB of index, 2^24 tensors, rank 64, 256 sections, depth 128, names of 4 KiB, 2^46 bytes of zeros.
    public static final Limits DEFAULT = new Limits(256L << 20, 1 << 24, 64, 256, 128, 4096, 1L << 46);
}
