/// Conversion of Java objects to nodes of a state tree and back. Not for use outside this module.
@NullMarked
package io.undercroft.serializer.internal.graph;

import org.jspecify.annotations.NullMarked;
