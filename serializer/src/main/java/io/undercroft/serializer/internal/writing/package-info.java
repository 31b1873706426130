/// Files that states are saved to: new ones, ones that grow, copies of snapshots, and files of other formats.
@NullMarked
package io.undercroft.serializer.internal.writing;

import org.jspecify.annotations.NullMarked;
