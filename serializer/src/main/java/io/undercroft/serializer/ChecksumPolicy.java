package io.undercroft.serializer;

/// When the bytes of storages are compared with their checksums. ([Checkpoint#verify] always looks at everything.)
///
/// A chunk that fails is an error of the tensors whose elements lie around or in it, and of no others: asking for one of
/// them by its name throws a [io.undercroft.format.FormatException] with the code `V14-CHECKSUM`, while
/// [Checkpoint#tensor] goes on giving the others, also those on the same storage. A damaged storage itself, as
/// [Checkpoint#storages] and [Checkpoint#state] give it, throws when a byte of it is asked for.
///
/// Only `.croft` files have checksums of chunks; files of other formats are opened the same way with all policies.
public enum ChecksumPolicy {
    /// Never.
    NONE,
    /// Those of storages with bytes in an adopted file, as with [#ON_TOUCH]; no others. The default: a `.croft` file is never
    /// written to again where it has been committed, but a file of another format has no id, and whoever replaces it need not
    /// know that it was adopted. Costs nothing where no file was adopted.
    ADOPTED,
    /// All chunks of a storage, when a tensor on it is asked for by name, or a byte of it is touched otherwise. It is read
    /// once as a whole then, at some gigabytes a second and core if it is in memory.
    ON_TOUCH,
    /// All chunks of all storages, when the file is opened. Opening does not fail for that: [Checkpoint#damages] lists what was
    /// found.
    EAGER
}
