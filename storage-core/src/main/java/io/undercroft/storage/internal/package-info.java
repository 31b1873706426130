/// How elements lie in bytes, how strided elements are copied, and how tensors are printed. Not for use outside this
/// library; may change in any release.
@NullMarked
package io.undercroft.storage.internal;

import org.jspecify.annotations.NullMarked;
