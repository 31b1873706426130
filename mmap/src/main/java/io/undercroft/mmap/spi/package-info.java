/// The service interface of modules whose devices have memory that processes can share.
@NullMarked
package io.undercroft.mmap.spi;

import org.jspecify.annotations.NullMarked;
