/// Writers of files: new `.croft` files, snapshots that are appended, copies of snapshots, and files of other formats.
@NullMarked
package io.undercroft.serializer.internal.writing;

import org.jspecify.annotations.NullMarked;
