/// Arrays of NumPy, which are in files of NumPy and in pickles: the types of their elements, where these are, and the
/// nodes that a state has for them.
@NullMarked
package io.undercroft.interop.internal.numpy;

import org.jspecify.annotations.NullMarked;
