/// How memory that the JDK knows nothing of comes into this library: shared between processes, pinned, on a device.
///
/// A module that has such memory names a [io.undercroft.storage.spi.MemoryProvider] in `META-INF/services`, and
/// [io.undercroft.storage.Storage] finds it. Users never call these types themselves.
@NullMarked
package io.undercroft.storage.spi;

import org.jspecify.annotations.NullMarked;
