/// Reading and writing of checkpoints. Not for use outside this module.
@NullMarked
package io.undercroft.serializer.internal;

import org.jspecify.annotations.NullMarked;
