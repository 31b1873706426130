/// What only this module uses.
@NullMarked
package io.undercroft.cuda.internal;

import org.jspecify.annotations.NullMarked;
