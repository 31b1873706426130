/// How checkpoints are written and read; nothing here is for use outside this module.
@NullMarked
package io.undercroft.serializer.internal;

import org.jspecify.annotations.NullMarked;
