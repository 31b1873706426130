/// Extents, the places of the bytes of storages in a file: storages are divided into chunks, chunks that are stored
/// already are found, and the others are written.
@NullMarked
package io.undercroft.serializer.internal.extents;

import org.jspecify.annotations.NullMarked;
