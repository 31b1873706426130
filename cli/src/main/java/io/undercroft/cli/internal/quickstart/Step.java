package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;

/// One thing that the quickstart shows. A step depends on earlier ones only through the files in the workspace.
interface Step {
    /// The heading of the step.
    String title();

    /// Runs the step, prints what it shows, and checks that.
    ///
    /// @return the text for the table at the end
    /// @throws Exception if it fails or a claim does not hold
    Shown run(Workspace workspace, Output out) throws Exception;

    /// The result of a step.
    ///
    /// @param fact in a few words
    /// @param nbytes the number of bytes it was shown with
    record Shown(String fact, long nbytes) {}

    /// Fails the step unless a claim holds.
    static void check(boolean holds, String claim) {
        if (!holds) {
            throw new IllegalStateException("this is not true: " + claim);
        }
    }
}
