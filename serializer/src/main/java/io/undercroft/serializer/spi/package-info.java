/// How a file format is added: implement [io.undercroft.serializer.spi.CheckpointFormat] and name the class in
/// `META-INF/services`. [io.undercroft.serializer.Checkpoint#open] asks each format in turn whether a file is its own.
@NullMarked
package io.undercroft.serializer.spi;

import org.jspecify.annotations.NullMarked;
