/// How graphs of tensors are saved and found again.
///
/// [Checkpoint][io.undercroft.serializer.Checkpoint] opens a file of any known format and saves `.croft` files. What a file holds is a *state*: a tree of
/// plain values and tensors ([io.undercroft.serializer.state]); tensors are found by name, which is their path in the tree.
/// Other file formats are added through [io.undercroft.serializer.spi].
///
/// A `.croft` file may hold several *snapshots* of a state ([SnapshotInfo][io.undercroft.serializer.SnapshotInfo]), which
/// [CroftFile][io.undercroft.serializer.CroftFile] appends, exports and compacts; what they have in common stands in it once, as
/// the [DedupReport][io.undercroft.serializer.DedupReport] of each tells. It may have bytes
/// in other files, its *bases*, and be one *shard* of a [ShardSet][io.undercroft.serializer.ShardSet]. Its bytes are under
/// checksums, which are looked at when [ChecksumPolicy][io.undercroft.serializer.ChecksumPolicy] says so, by a
/// [Scrub][io.undercroft.serializer.Scrub] in the background, or all at once by
/// [Checkpoint.verify][io.undercroft.serializer.Checkpoint#verify]; of a file that is damaged,
/// [Salvage][io.undercroft.serializer.Salvage] gives what is sound.
///
/// A state in shared memory is one image that all processes map: [Published][io.undercroft.serializer.Published]. Who goes on
/// with the newest of several versions takes leases from a [Follower][io.undercroft.serializer.Follower].
///
/// Parameters and results are never null unless they say so.
@NullMarked
package io.undercroft.serializer;

import org.jspecify.annotations.NullMarked;
