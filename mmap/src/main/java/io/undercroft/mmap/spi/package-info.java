/// Service interfaces of modules that share device memory between processes, and of modules that read files in stores.
@NullMarked
package io.undercroft.mmap.spi;

import org.jspecify.annotations.NullMarked;
