package io.undercroft.serializer;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.util.function.Supplier;

/// Followers of versions that a test publishes.
public final class Followers {
    private Followers() {}

    /// {@return a follower of files}
    ///
    /// @param newest the file of the newest version, with a holder for the follower
    /// @param format its format
    public static Follower of(Supplier<MappedFile> newest, CheckpointFormat format) throws IOException {
        return new Follower("memory", () -> Checkpoint.open(newest.get(), _ -> format, OpenOptions.defaults()));
    }
}
