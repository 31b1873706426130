/// How graphs of tensors are saved and found again.
///
/// [Checkpoint][io.undercroft.serializer.Checkpoint] opens a file of any known format and saves `.croft` files. What a file holds is a *state*: a tree of
/// plain values and tensors ([io.undercroft.serializer.state]); tensors are found by name, which is their path in the tree.
/// Other file formats are added through [io.undercroft.serializer.spi].
///
/// Parameters and results are never null unless they say so.
@NullMarked
package io.undercroft.serializer;

import org.jspecify.annotations.NullMarked;
