package io.undercroft.serializer;

/// A report of the bytes of a state that a save wrote, shared and skipped. All values are in bytes.
///
/// What the storages have is either not reached, or zero, or shared, or written: [#unreached] + [#zeros] +
/// [#sharedStorages] + [#sharedChunks] + [#written] = [#storages]. A storage on the meta device has no bytes and does
/// not count.
///
/// @param storages the sizes of all storages, each counted once
/// @param identity what is saved as tensors share storages: the bytes that all tensors reach, each tensor counted
///     separately, minus the bytes that are reached
/// @param unreached chunks that no tensor reaches; they take no space
/// @param zeros chunks of zeros of large storages; they take no space
/// @param sharedStorages chunks of storages that are, as a whole, the same bytes as another storage of the file or of a
///     base
/// @param sharedChunks all other chunks whose bytes the file or a base had already
/// @param written chunks that were written
/// @param index the index: what describes the tensors
public record DedupReport(long storages, long identity, long unreached, long zeros, long sharedStorages,
        long sharedChunks,
        long written, long index) {}
