/// What a saved state is made of.
///
/// A state is a tree of plain values: null, `Boolean`, integers (`Long` after a load), `Double`, `String`, `byte[]`,
/// `java.util.Map`, `java.util.List`, `java.util.Set`, and of what this library adds: tensors and storages, dtypes, devices,
/// shapes, complex numbers, and the types of this package for what other languages tell apart and Java does not.
///
/// Containers have an identity: a list that is referenced twice comes back as one list.
@NullMarked
package io.undercroft.serializer.state;

import org.jspecify.annotations.NullMarked;
