/// What the bytes of a `.croft` file mean: records, codec and validation.
///
/// **Concepts.** A *storage* is a run of bytes that tensors stand on; in a file it is a list of *extents*, each a run
/// of bytes of this file or of another one, a *base*, or a run of zeros that takes no room. A *tensor* is a strided
/// window on a storage. A *snapshot* is one committed state of a file: an *index* of fixed-width tables that is read in
/// place. A *commit record*, in one of two slots or at the end of a *sealed* file, says where the index is. The *state
/// tree* is the saved object structure around the tensors. A *set* is a number of files that belong together. `SPEC.md`
/// beside this module is the normative text; the rule numbers in messages are its numbers. `croft.ksy` beside
/// it describes the same bytes for Kaitai Struct.
///
/// **Reading.** [io.undercroft.format.Snapshot#open] checks what has to be known before the first record is used; each
/// record is checked when it is. [io.undercroft.format.Verifier] checks all records of all snapshots, and reads the
/// bytes of the storages. [io.undercroft.format.SetManifest] opens the files of a set.
///
/// **Writing.** [io.undercroft.format.IndexBuilder] makes the index, [io.undercroft.format.IndexCopy] that of the same
/// snapshot in another file, [io.undercroft.format.Header] and
/// [io.undercroft.format.CommitRecord] the header and commit records, [io.undercroft.format.Layout] says where bytes
/// go, and [io.undercroft.format.ExtentDigester] sums them up.
///
/// **Rules for the whole package.** No file, thread or tensor is known here: bytes come through
/// [io.undercroft.format.ByteSource]. Arguments and results are never null unless marked so. Records and snapshots are
/// immutable and safe for any thread; builders, writers, readers and digesters belong to one thread. A file that breaks
/// a rule gives [io.undercroft.format.FormatException]; a caller that breaks one gives [IllegalArgumentException].
@NullMarked
package io.undercroft.format;

import org.jspecify.annotations.NullMarked;
