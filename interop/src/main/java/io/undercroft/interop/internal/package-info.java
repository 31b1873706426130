/// Readers and writers that several formats use: zip archives, JSON, and tensors by name.
@NullMarked
package io.undercroft.interop.internal;

import org.jspecify.annotations.NullMarked;
