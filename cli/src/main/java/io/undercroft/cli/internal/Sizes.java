package io.undercroft.cli.internal;

import io.undercroft.serializer.Checkpoint;
import java.util.Collection;

/// The sizes of files.
public final class Sizes {
    private Sizes() {}

    /// {@return the size of a file as text; with the files that it names, if it is the index of a set}
    ///
    /// @param checkpoint the open file
    public static String of(Checkpoint checkpoint) {
        Collection<Long> sizes = checkpoint.fileSizes().values();
        return Text.bytes(sizes.stream().mapToLong(Long::longValue).sum())
                + (sizes.size() == 1 ? "" : " in " + sizes.size() + " files");
    }
}
