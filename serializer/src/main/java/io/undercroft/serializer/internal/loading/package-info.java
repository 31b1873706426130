/// Selecting the tensors that are read, and reading the bytes of their storages.
@NullMarked
package io.undercroft.serializer.internal.loading;

import org.jspecify.annotations.NullMarked;
