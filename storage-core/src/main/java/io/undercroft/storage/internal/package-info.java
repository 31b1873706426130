/// Encoding of elements, copying of strided elements, and printing of tensors. Not for use outside this
/// library; may change in any release.
@NullMarked
package io.undercroft.storage.internal;

import org.jspecify.annotations.NullMarked;
