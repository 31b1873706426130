/// Utilities and contracts that the modules of this project share. Exported to them only.
@NullMarked
package io.undercroft.storage.internal.support;

import org.jspecify.annotations.NullMarked;
