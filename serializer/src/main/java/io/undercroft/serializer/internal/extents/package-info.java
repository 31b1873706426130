/// Where the bytes of storages are in a file: cutting them into chunks, finding those that are there already, writing
/// the others.
@NullMarked
package io.undercroft.serializer.internal.extents;

import org.jspecify.annotations.NullMarked;
