/// What is to be saved: the tree of a state, its tensors and storages, and for a save in the background their bytes as
/// they were.
@NullMarked
package io.undercroft.serializer.internal.planning;

import org.jspecify.annotations.NullMarked;
