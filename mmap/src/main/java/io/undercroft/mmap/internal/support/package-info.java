/// The loop of retries that the modules of stores share. Exported to them only.
@NullMarked
package io.undercroft.mmap.internal.support;

import org.jspecify.annotations.NullMarked;
