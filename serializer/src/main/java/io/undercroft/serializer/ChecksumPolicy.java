package io.undercroft.serializer;

/// When the bytes of storages are compared with their checksums. [Checkpoint#verify] always compares all bytes.
///
/// A chunk of a `.croft` file that fails affects only the tensors whose elements overlap it: [Checkpoint#tensor] throws
/// a [io.undercroft.format.FormatException] with the code `V14-CHECKSUM` for them, and returns the others, also those
/// on the same storage. A damaged storage itself, as [Checkpoint#storages] and [Checkpoint#state] return it, throws
/// when one of its bytes is accessed.
///
/// The records of a zip archive (`.pt`, `.npz`) that have a CRC-32 are checked as a whole, with the code `ZIP-CRC`;
/// with [#EAGER] at the first access. Compressed records are checked whenever they are decoded. Other formats have no
/// checksums.
///
/// **Writes of the program.** Mappings are copy-on-write, so memory may differ from the file. A chunk that does not
/// match in memory is read again from the file: if it matches there, the program has written to it, and it is not
/// damaged. Otherwise it is rejected, even if the program has written to it, as the rest of it may be damaged; open the
/// file with [#NONE] to save it nevertheless. Bytes that are [mapped shared][io.undercroft.mmap.MapMode#SHARED] change
/// in the file, and are checked at most at the first access.
public enum ChecksumPolicy {
    /// Never. Damaged bytes are loaded, and saved with new checksums.
    NONE,
    /// The default. Loading [into memory][OpenOptions#inMemory()], [Checkpoint#loadInto], saving (also in the
    /// background, to a stream, into shared memory) and exporting to another format compare the bytes on the way, each
    /// chunk once. So does everything that copies a whole storage to other memory: copies of a
    /// [Storage][io.undercroft.storage.Storage], on the same device and to others, to pinned and to shared memory, and
    /// copies and conversions of a [Tensor][io.undercroft.storage.Tensor] whose elements are all of its storage.
    ///
    /// Other reads are not checked, so that a file of any size opens in milliseconds and a read of one element reads
    /// one page: single elements, [Checkpoint#rows], copies of tensors that are a part of their storage, arrays,
    /// comparisons and texts of tensors, and memory that other libraries use.
    ///
    /// Storages with bytes in an adopted file are checked as with [#ON_TOUCH]: committed bytes of a `.croft` file are
    /// never written again, but a file of another format has no id, and other programs may replace it.
    WHEN_READ_WHOLE,
    /// All chunks of a storage, when a tensor on it is read by name or a byte of it is first accessed. The whole
    /// storage is then read once, at some gigabytes per second and core if it is in memory.
    ON_TOUCH,
    /// All chunks of all storages, when the file is opened. Opening does not fail for that: [Checkpoint#damages] lists
    /// what was found.
    EAGER
}
