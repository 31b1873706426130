/// Sets of `.croft` files: what their tensors consist of, and reading any boxes of them.
@NullMarked
package io.undercroft.serializer.internal.sets;

import org.jspecify.annotations.NullMarked;
