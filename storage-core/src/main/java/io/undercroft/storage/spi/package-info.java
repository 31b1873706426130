/// Service interfaces of modules that provide memory which the JDK does not: shared memory, pinned memory, memory of
/// devices. Programs that use tensors do not need them.
///
/// A module declares its [io.undercroft.storage.spi.MemoryProvider] in `META-INF/services` or `module-info`.
@NullMarked
package io.undercroft.storage.spi;

import org.jspecify.annotations.NullMarked;
