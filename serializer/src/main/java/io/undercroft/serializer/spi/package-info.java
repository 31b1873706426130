/// Service interfaces for file formats. To add a format, implement [io.undercroft.serializer.spi.CheckpointFormat] and
/// name the class in `META-INF/services/io.undercroft.serializer.spi.CheckpointFormat`.
/// [io.undercroft.serializer.Checkpoint#open] opens a file with the first format that recognises it.
///
/// **Lookup and order.** Formats are found with the class loader of this library and with the context class loader of
/// the calling thread. `croft` is first, then the formats in packages below `io.undercroft`, as those of
/// `undercroft-interop`, then all others, in the order in which `ServiceLoader` finds them. So an added format cannot
/// claim files of these. If two have the same [name][io.undercroft.serializer.spi.CheckpointFormat#name], the second is
/// ignored. They are found once for each context class loader, and again before a file, a name or the suffix of a file
/// is taken for one of no known format: so a jar may be added to a class loader while a program runs.
///
/// **Failures.** A format that cannot be loaded or instantiated, or whose capabilities cannot be read, is ignored, and
/// one that fails in [matches][io.undercroft.serializer.spi.CheckpointFormat#matches] is skipped for that file. The log
/// (`System.Logger`) has one warning that names it. What [open][io.undercroft.serializer.spi.CheckpointFormat#open]
/// and [draft][io.undercroft.serializer.spi.CheckpointFormat#draft(Object, io.undercroft.serializer.SaveOptions)] throw
/// reaches the caller as it is, a [io.undercroft.format.FormatException] with the name of the file.
///
/// **To read**, a format makes storages with [io.undercroft.serializer.spi.FileStorages], which maps, reads or decodes
/// bytes when they are touched, creates tensors on them, builds a tree of these as [io.undercroft.serializer.state]
/// describes it, and passes that to [io.undercroft.serializer.spi.TreeContents]. Files are not trusted: check offsets
/// and lengths against the size of the file before use.
///
/// **To write**, it makes all checks and computes all sizes in a [io.undercroft.serializer.spi.Draft], which is then
/// written sequentially. This library creates the file, forces it to the disk and renames it.
@NullMarked
package io.undercroft.serializer.spi;

import org.jspecify.annotations.NullMarked;
