/// How a state, or snapshots that are there already, become bytes of a `.croft` file.
@NullMarked
package io.undercroft.serializer.internal.writing;

import org.jspecify.annotations.NullMarked;
