/// Names, paths and walks of state trees. Exported to the modules of this project that read formats or show files.
@NullMarked
package io.undercroft.serializer.internal.tree;

import org.jspecify.annotations.NullMarked;
