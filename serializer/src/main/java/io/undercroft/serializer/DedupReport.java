package io.undercroft.serializer;

/// A report of the bytes of a state that a save wrote, shared and skipped. All values are in bytes.
///
/// Each byte of the storages is either unreached, zero, shared or written: [#unreached] + [#zeros] + [#sharedStorages]
/// + [#sharedChunks] + [#written] = [#storages]. A storage on the meta device has no bytes and does not count.
///
/// @param storages the sizes of all storages, each counted once
/// @param identity the bytes saved because tensors share storages: the sum of the bytes that each tensor reaches, minus
///     the bytes that are reached
/// @param unreached bytes of chunks that no tensor reaches, which are not stored
/// @param zeros bytes of chunks of zeros of large storages, which are not stored
/// @param sharedStorages bytes of storages that have the same bytes as another storage of the file or of a base
/// @param sharedChunks bytes of all other chunks that the file or a base had already
/// @param written bytes of chunks that were written
/// @param compressed how many of the written bytes were saved by [compression][SaveOptions#compress]: these were not
///     stored
/// @param index the size of the index, which describes the tensors
public record DedupReport(long storages, long identity, long unreached, long zeros, long sharedStorages,
        long sharedChunks, long written, long compressed, long index) {}
