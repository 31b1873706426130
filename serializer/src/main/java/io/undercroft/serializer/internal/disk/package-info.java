/// File system operations of writers, in an order that survives a power failure: files that appear as a whole or not at
/// all ([AtomicFile]), one writer at a time ([WriterLock]). All of them use one small interface ([Disk]), so that a
/// test can record them and simulate a power failure after each.
@NullMarked
package io.undercroft.serializer.internal.disk;

import org.jspecify.annotations.NullMarked;
