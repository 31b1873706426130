/// How bytes get out of files into memory, and which.
@NullMarked
package io.undercroft.serializer.internal.loading;

import org.jspecify.annotations.NullMarked;
