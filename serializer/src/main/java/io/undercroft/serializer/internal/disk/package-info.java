/// File system operations of writers, in an order that survives a power failure. [AtomicFile] replaces a file as a
/// whole or not at all, [WriterLock] excludes other writers. All operations go through the interface [Disk], so that a
/// test can record them and simulate a power failure after each.
@NullMarked
package io.undercroft.serializer.internal.disk;

import org.jspecify.annotations.NullMarked;
