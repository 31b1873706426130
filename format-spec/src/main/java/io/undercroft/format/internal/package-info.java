/// The bytes of a `.croft` file: records, codec and validation, for the modules that read and write such files.
///
/// **Concepts.** A *storage* is a run of bytes that tensors reference; in a file it is a list of *extents*, each a run
/// of bytes of this file or of another one, a *base*, or a run of zeros that takes no space. A *tensor* is a strided
/// window on a storage. A *snapshot* is one committed state of a file: an *index* of fixed-width tables that is read in
/// place. A *commit record*, in one of two slots or at the end of a *sealed* file, holds the offset of the index. The
/// *state tree* is the saved object structure around the tensors. A *set* is a group of files that are opened together.
/// The rule numbers in messages are those of `SPEC.md`.
///
/// **Reading.** [io.undercroft.format.internal.Snapshot#open] checks what the first use of a record relies on; each
/// record is checked when it is used. [io.undercroft.format.internal.Verifier] checks all records of all snapshots, and
/// reads the bytes of the storages. [io.undercroft.format.internal.SetManifest] opens the files of a set.
///
/// **Writing.** [io.undercroft.format.internal.IndexBuilder] makes the index,
/// [io.undercroft.format.internal.IndexCopy] that of the same snapshot in another file,
/// [io.undercroft.format.internal.Header] and [io.undercroft.format.internal.CommitRecord] the header and commit
/// records, [io.undercroft.format.internal.FileLayout] computes offsets, and
/// [io.undercroft.format.internal.ExtentDigester] computes their digests.
///
/// **Rules for the whole package.** No type here uses a file, a thread or a tensor: bytes are read through
/// [io.undercroft.format.internal.ByteSource]. Arguments and results are never null unless marked so. Records and
/// snapshots are immutable and safe for any thread; builders, writers, readers and digesters belong to one thread. A
/// file that breaks a rule causes a [io.undercroft.format.FormatException]; a caller that breaks one causes an
/// [IllegalArgumentException].
@NullMarked
package io.undercroft.format.internal;

import org.jspecify.annotations.NullMarked;
