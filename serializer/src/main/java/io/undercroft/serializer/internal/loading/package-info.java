/// Reading bytes of storages from files, and the choice of those that are read.
@NullMarked
package io.undercroft.serializer.internal.loading;

import org.jspecify.annotations.NullMarked;
