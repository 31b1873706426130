/// Code that several formats use: zip archives, JSON, files of tensors by name, and models in several files.
@NullMarked
package io.undercroft.interop.internal;

import org.jspecify.annotations.NullMarked;
