/// How Java objects are in a state tree; nothing here is for use outside this module.
@NullMarked
package io.undercroft.serializer.internal.graph;

import org.jspecify.annotations.NullMarked;
