/// Service interfaces for memory that the JDK does not manage: shared between processes, pinned, on a device.
///
/// A module with such memory names a [io.undercroft.storage.spi.MemoryProvider] in `META-INF/services`, and
/// [io.undercroft.storage.Storage] finds it. Users never call these types themselves.
/// [io.undercroft.storage.spi.NearNames] finds similar names for the messages of all modules.
@NullMarked
package io.undercroft.storage.spi;

import org.jspecify.annotations.NullMarked;
