/// What a module implements whose devices have memory that processes share.
@NullMarked
package io.undercroft.mmap.spi;

import org.jspecify.annotations.NullMarked;
