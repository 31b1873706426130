/// How a file format is added: implement [io.undercroft.serializer.spi.CheckpointFormat] and name the class in
/// `META-INF/services/io.undercroft.serializer.spi.CheckpointFormat`. [io.undercroft.serializer.Checkpoint#open] asks
/// each format in turn whether a file is its own.
///
/// **Which are found.** Those that the class loader of this library sees, and those that the context class loader of
/// the calling thread sees. First `croft`, then those whose classes are in packages below `io.undercroft`, as the
/// formats of `undercroft-interop` are, then all others, in the order in which `ServiceLoader` finds them. So a format
/// that is added takes no file from these. Of two with the same
/// [name][io.undercroft.serializer.spi.CheckpointFormat#name] the second is left out.
///
/// **What goes wrong in one.** A format that cannot be loaded, made, or asked what it can do is left out, and one that
/// fails to look at a file is passed over. A warning in the log (`System.Logger`) names it, once. What
/// [open][io.undercroft.serializer.spi.CheckpointFormat#open] and
/// [draft][io.undercroft.serializer.spi.CheckpointFormat#draft(Object, io.undercroft.serializer.SaveOptions)] throw
/// reaches the caller as it is, a [io.undercroft.format.FormatException] with the name of the file.
///
/// **To read**, a format makes its storages with [io.undercroft.serializer.spi.FileStorages], which map, read or decode
/// bytes when these are touched, puts tensors on them, these into a tree as [io.undercroft.serializer.state] describes
/// it, and that into [io.undercroft.serializer.spi.TreeContents]. What a file says is not to be trusted: runs of bytes
/// are checked against the size of the file before anything is made of them.
///
/// **To write**, it makes all checks and finds all sizes in a [io.undercroft.serializer.spi.Draft], which is written
/// from first to last. The file itself is made, brought to the disk and named by this library.
@NullMarked
package io.undercroft.serializer.spi;

import org.jspecify.annotations.NullMarked;
