/// Mapping, shared memory, and the calls of the operating system. Not for use outside this module.
///
/// - [Libc] binds the functions of the C library; no other class calls it.
/// - [HostFile] is an open file: [PosixFile] uses libc, [ChannelFile] the JDK: for small files too, as long as nothing
///   has bound libc.
/// - [Mapping] makes mappings, [StitchedMapping] ranges of several pieces, [FreezableRange] copy-on-write memory.
/// - [HolderRegistry] has the names of shared memory, and records their holders in files.
@NullMarked
package io.undercroft.mmap.internal;

import org.jspecify.annotations.NullMarked;
