/// What writers do to a file system, in an order that survives a power failure: a file that appears whole or not at all
/// ([AtomicFile]), one writer at a time ([WriterLock]). All of it goes through one small interface ([Disk]), so that a
/// test can record it and try every moment at which the power may go.
@NullMarked
package io.undercroft.serializer.internal.disk;

import org.jspecify.annotations.NullMarked;
