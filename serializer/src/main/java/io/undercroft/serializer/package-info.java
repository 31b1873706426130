/// Checkpoints: trees of tensors and plain values that are saved to files and opened from them.
///
/// [Checkpoint][io.undercroft.serializer.Checkpoint] opens and saves files of any known format. A file contains a
/// *state*: a tree of plain values and tensors ([io.undercroft.serializer.state]); the name of a tensor is its path in
/// the tree. A state can contain records, enums and other objects of a program if their classes are registered:
/// [StateClasses][io.undercroft.serializer.StateClasses]. Other file formats are added through
/// [io.undercroft.serializer.spi].
///
/// A `.croft` file may hold several *snapshots* of a state ([SnapshotInfo][io.undercroft.serializer.SnapshotInfo]),
/// which [CroftFile][io.undercroft.serializer.CroftFile] appends, copies and compacts; bytes that they have
/// in common are stored once, which the [DedupReport][io.undercroft.serializer.DedupReport] of each counts. It may
/// reference bytes of other files, its *bases*: other `.croft` files, or *adopted* files, which are bases of other
/// formats. It may be one *shard* of a [ShardSet][io.undercroft.serializer.ShardSet]. Its bytes have
/// checksums, which are compared according to the [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy], by a
/// [Scrub][io.undercroft.serializer.Scrub] in the background, or all at once by
/// [Checkpoint.verify][io.undercroft.serializer.Checkpoint#verify].
/// [Salvage][io.undercroft.serializer.Salvage] opens the intact tensors of a damaged file.
///
/// [Checkpoint.saveAsync][io.undercroft.serializer.Checkpoint#saveAsync] saves a state while the program changes it: it
/// *stages* the state, by copying or freezing its bytes, and writes the staged bytes in the background, as a
/// [PendingSave][io.undercroft.serializer.PendingSave].
///
/// By default storages are mapped, and read when they are touched. [OpenOptions][io.undercroft.serializer.OpenOptions]
/// choose other ways: into memory at once, on the meta device, some tensors only, and a check against expected tensors
/// ([TensorSpec][io.undercroft.serializer.TensorSpec], [MatchReport][io.undercroft.serializer.MatchReport]).
/// [Checkpoint.rows][io.undercroft.serializer.Checkpoint#rows] reads a part of one tensor, and
/// [Checkpoint.loadInto][io.undercroft.serializer.Checkpoint#loadInto(Object)] copies all into existing tensors.
///
/// A state in shared memory is one image that all processes map:
/// [PublishedCheckpoint][io.undercroft.serializer.PublishedCheckpoint]. A [Follower][io.undercroft.serializer.Follower]
/// gives leases on the newest version.
///
/// Parameters and results are never null unless documented otherwise.
@NullMarked
package io.undercroft.serializer;

import org.jspecify.annotations.NullMarked;
