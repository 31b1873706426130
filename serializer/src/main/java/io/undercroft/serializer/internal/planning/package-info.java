/// The plan of a save: the tree of a state, its tensors and storages, and for a save in the background copies of their
/// bytes.
@NullMarked
package io.undercroft.serializer.internal.planning;

import org.jspecify.annotations.NullMarked;
