package io.undercroft.cli.internal;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/// The JSON that a command prints for its files: the object of the only file, or one object that has those of several
/// files as the elements of `files`.
public final class JsonFiles {
    private final TextOutput out;
    private final boolean areSeveral;
    private int begun;
    private int ended;

    /// Prints nothing yet.
    ///
    /// @param out the destination
    /// @param count the number of files
    public JsonFiles(TextOutput out, int count) {
        this.out = out;
        this.areSeveral = count > 1;
    }

    /// {@return whether the objects are elements, which name their files}
    public boolean areSeveral() {
        return areSeveral;
    }

    /// Prints the object of one file. Nothing is printed after an object that could not be completed.
    ///
    /// @param members writes the members of the object
    /// @throws IOException if `members` throws it
    public void print(Json.Members members) throws IOException {
        if (!areSeveral) {
            Json.print(out, members);
        } else if (begun == ended) {
            out.line(begun == 0 ? "{\"files\":[" : ",");
            begun++;
            Json.write(out, members);
            ended++;
        }
    }

    /// Prints the object of one of several files if it has none, as the file could not be read.
    ///
    /// @param file the file as the user named it
    /// @param exitCode the exit code that the command would have for this file alone
    /// @param code the fault for programs, or null if it has no code
    /// @param what the message
    /// @throws IOException never, as the destination throws its own exceptions
    public void printError(String file, int exitCode, @Nullable String code, String what) throws IOException {
        if (areSeveral) {
            print(json -> json.member("file", file).object("error",
                    error -> error.member("exit_code", exitCode).member("code", code).member("what", what)));
        }
    }

    /// Prints the end of the object of several files.
    public void end() {
        if (areSeveral && begun == ended) {
            out.line("");
            out.line("]}");
        }
    }
}
