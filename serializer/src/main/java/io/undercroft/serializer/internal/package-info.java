/// Opening of checkpoints: the formats and their options, the contents of `.croft` files and sets, bases, and checks of
/// checksums. Not for use outside this module.
///
/// The subpackages `loading`, `graph`, `planning`, `extents`, `writing` and `disk` read storages, convert Java objects,
/// plan a save, place its bytes, write files, and force them to the disk.
@NullMarked
package io.undercroft.serializer.internal;

import org.jspecify.annotations.NullMarked;
