/// What several foreign formats are made of: zip archives.
@NullMarked
package io.undercroft.interop.internal;

import org.jspecify.annotations.NullMarked;
