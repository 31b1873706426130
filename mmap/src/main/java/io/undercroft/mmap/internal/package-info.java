/// How this module calls the operating system. Not for use outside it.
@NullMarked
package io.undercroft.mmap.internal;

import org.jspecify.annotations.NullMarked;
