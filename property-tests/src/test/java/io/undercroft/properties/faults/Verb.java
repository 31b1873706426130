package io.undercroft.properties.faults;

import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/// Something that a program asks of the library.
///
/// @param name its name
/// @param prepare makes what was there before
/// @param work does it; an [AssertionError] says that it was done wrongly
/// @param result opens what there is, or returns null if there is nothing
/// @param undo removes what is not a file in the folder
record Verb(String name, Step prepare, Step work, Result result, Step undo) {
    static final Step NOTHING = _ -> {};

    /// Works in a folder.
    @FunctionalInterface
    interface Step {
        void in(Path folder) throws IOException;
    }

    /// Opens what there is in a folder.
    @FunctionalInterface
    interface Result {
        @Nullable
        Checkpoint in(Path folder) throws IOException;
    }

    Verb(String name, Step prepare, Step work, Result result) {
        this(name, prepare, work, result, NOTHING);
    }
}
