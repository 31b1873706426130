/// Interfaces of other modules: of those whose devices have memory that processes can share, and of those that read
/// files in stores.
@NullMarked
package io.undercroft.mmap.spi;

import org.jspecify.annotations.NullMarked;
