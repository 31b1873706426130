/// What several foreign formats are made of: zip archives, JSON, and tensors by name.
@NullMarked
package io.undercroft.interop.internal;

import org.jspecify.annotations.NullMarked;
