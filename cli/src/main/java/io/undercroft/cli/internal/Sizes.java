package io.undercroft.cli.internal;

import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/// The sizes of files.
public final class Sizes {
    private Sizes() {}

    /// {@return the size of a file as text; with the files that it names, if it is the index of a set}
    ///
    /// @param checkpoint the open file
    /// @throws IOException if the size cannot be found out
    public static String of(Checkpoint checkpoint) throws IOException {
        long nbytes = 0;
        for (Path file : checkpoint.files()) {
            nbytes += Files.size(file);
        }
        int count = checkpoint.files().size();
        return Text.bytes(nbytes) + (count == 1 ? "" : " in " + count + " files");
    }
}
