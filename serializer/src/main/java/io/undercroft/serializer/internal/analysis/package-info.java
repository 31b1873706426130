/// Reads all elements of files in bounded memory, and finds equal bytes in them. Exported to the modules of this
/// project that look into many files.
@NullMarked
package io.undercroft.serializer.internal.analysis;

import org.jspecify.annotations.NullMarked;
