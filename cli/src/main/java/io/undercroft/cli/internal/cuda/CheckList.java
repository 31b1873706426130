package io.undercroft.cli.internal.cuda;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cuda.internal.DeviceChecks;
import java.io.IOException;
import java.util.concurrent.CancellationException;

/// Runs checks one after the other, and prints a line about each as soon as it has ended.
final class CheckList {
    private final TextOutput out;
    private int passed;
    private int failed;

    CheckList(TextOutput out) {
        this.out = out;
    }

    /// Runs a check.
    ///
    /// @param what the description of the check
    /// @param check does it
    /// @throws CancellationException if the thread was interrupted
    void run(String what, DeviceChecks.Body check) {
        String problem = "";
        try {
            check.run();
        } catch (IOException | RuntimeException | OutOfMemoryError | LinkageError e) {
            problem = problem(e);
        }
        if (Thread.currentThread().isInterrupted()) {
            throw new CancellationException("the check was interrupted");
        }
        if (problem.isEmpty()) {
            passed++;
            print("passed", what, "");
        } else {
            failed++;
            print("FAILED", what, problem);
        }
    }

    /// Reports that a check is not run.
    ///
    /// @param what the description of the check
    /// @param why the reason
    void omit(String what, String why) {
        print("omitted", what, why);
    }

    private void print(String result, String what, String why) {
        out.line("%-8s %s%s".formatted(result, what, why.isEmpty() ? "" : ": " + why));
        out.flush();
    }

    /// {@return the message of a failure in one line}
    ///
    /// @param failure the exception
    static String problem(Throwable failure) {
        String message = failure.getMessage();
        return message == null ? failure.toString() : message;
    }

    int passed() {
        return passed;
    }

    int failed() {
        return failed;
    }
}
