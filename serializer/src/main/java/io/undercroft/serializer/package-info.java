/// How graphs of tensors are saved and found again.
///
/// [Checkpoint][io.undercroft.serializer.Checkpoint] opens and saves files of any known format. What a file holds is a
/// *state*: a tree of plain values and tensors ([io.undercroft.serializer.state]); tensors are found by name, which is
/// their path in the tree. Records, enums and other objects of a program are in it if their classes are registered:
/// [StateClasses][io.undercroft.serializer.StateClasses]. Other file formats are added through
/// [io.undercroft.serializer.spi].
///
/// A `.croft` file may hold several *snapshots* of a state ([SnapshotInfo][io.undercroft.serializer.SnapshotInfo]),
/// which [CheckpointFile][io.undercroft.serializer.CheckpointFile] appends, copies and compacts; bytes that they have
/// in common are stored once, as the [DedupReport][io.undercroft.serializer.DedupReport] of each says. It may have
/// bytes in other files, its *bases*, and be one *shard* of a [ShardSet][io.undercroft.serializer.ShardSet]. Its bytes
/// are under checksums, which are looked at when [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy] says so, by
/// a [Scrub][io.undercroft.serializer.Scrub] in the background, or all at once by
/// [Checkpoint.verify][io.undercroft.serializer.Checkpoint#verify]; of a file that is damaged,
/// [Salvage][io.undercroft.serializer.Salvage] gives what is sound.
///
/// [Checkpoint.saveAsync][io.undercroft.serializer.Checkpoint#saveAsync] saves a state that goes on changing: a
/// snapshot of it is taken at once and written in the background, by a
/// [PendingSave][io.undercroft.serializer.PendingSave].
///
/// Storages are mapped, and read when they are touched. [OpenOptions][io.undercroft.serializer.OpenOptions] say
/// otherwise: read into memory at once, on the meta device, some tensors only, and none but those that are expected
/// ([TensorSpec][io.undercroft.serializer.TensorSpec], [MatchReport][io.undercroft.serializer.MatchReport]).
/// [Checkpoint.rows][io.undercroft.serializer.Checkpoint#rows] reads a part of one tensor, and
/// [Checkpoint.loadInto][io.undercroft.serializer.Checkpoint#loadInto(Object)] copies all into tensors that are there.
///
/// A state in shared memory is one image that all processes map: [Published][io.undercroft.serializer.Published]. Who
/// goes on with the newest of several versions takes leases from a [Follower][io.undercroft.serializer.Follower].
///
/// Parameters and results are never null unless they say so.
@NullMarked
package io.undercroft.serializer;

import org.jspecify.annotations.NullMarked;
