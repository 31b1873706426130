/// The implementation of this module. Not for use outside it.
@NullMarked
package io.undercroft.cuda.internal;

import org.jspecify.annotations.NullMarked;
