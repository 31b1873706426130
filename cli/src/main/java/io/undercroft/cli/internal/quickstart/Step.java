package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;

/// One thing that the quickstart shows. A step depends on earlier ones only through the files in the workspace.
interface Step {
    /// What is done, as a heading.
    String title();

    /// Runs the step, prints what it shows, and checks that.
    ///
    /// @return the text for the table at the end
    /// @throws Exception if it fails or a claim does not hold
    Shown run(Workspace workspace, Output out) throws Exception;

    /// What a step has shown.
    ///
    /// @param fact in a few words
    /// @param nbytes how many bytes it was shown on
    record Shown(String fact, long nbytes) {}

    /// Fails the step unless a claim holds.
    static void check(boolean holds, String claim) {
        if (!holds) {
            throw new IllegalStateException("this does not hold: " + claim);
        }
    }
}
