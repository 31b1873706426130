package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.JsonFiles;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Damage;
import io.undercroft.serializer.Verification;
import java.io.IOException;

/// The result of a verification, for programs.
public final class VerificationJson {
    private VerificationJson() {}

    /// Writes one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param checkpoint the file that was verified
    /// @param verification the result
    /// @param files the destination
    /// @throws IOException never, as the destination throws its own exceptions
    public static void print(Checkpoint checkpoint, Verification verification, JsonFiles files) throws IOException {
        files.print(all -> all.member("file", StandardInput.shown(checkpoint.location()))
                .member("format", checkpoint.format()).member("complete", verification.isComplete())
                .list("damages", verification.damages(), VerificationJson::write)
                .member("unverified_nbytes", verification.unverifiedBytes())
                .list("missing_bases", verification.missingBases(), JsonReport::write)
                .list("unread", checkpoint.unread(), JsonReport::write));
    }

    /// Writes the members that describe one damage.
    ///
    /// @param json the object
    /// @param damage what is damaged
    /// @throws IOException if writing fails
    public static void write(Json json, Damage damage) throws IOException {
        json.member("code", damage.code()).member("where", damage.where()).member("offset", damage.offset())
                .member("nbytes", damage.length()).member("what", damage.what());
    }
}
