/// Files that the client of Hadoop reads and writes.
@NullMarked
package io.undercroft.hadoop.internal;

import org.jspecify.annotations.NullMarked;
