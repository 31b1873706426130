/// Calls of the operating system. Not for use outside this module.
@NullMarked
package io.undercroft.mmap.internal;

import org.jspecify.annotations.NullMarked;
