/// Writing of states and copies of snapshots as `.croft` files.
@NullMarked
package io.undercroft.serializer.internal.writing;

import org.jspecify.annotations.NullMarked;
