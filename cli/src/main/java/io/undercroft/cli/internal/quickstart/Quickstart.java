package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import java.io.PrintWriter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/// The main job on real input: from a checkpoint that `torch.save` wrote to storages that two processes share.
public final class Quickstart {
    private Quickstart() {}

    /// Runs every step and prints what each shows; stops at the first that fails.
    ///
    /// @param out takes what is shown
    /// @param err takes the message of a step that fails
    /// @return the exit code: 0, or 1 if a step failed
    /// @throws Exception if there is no place for the files it needs
    public static int run(TextOutput out, PrintWriter err) throws Exception {
        Table summary = new Table(Table.left("shown"), Table.right("bytes"), Table.right("time"));
        out.line("A PyTorch training checkpoint, from torch.save to shared memory.");
        try (Workspace workspace = Workspace.create()) {
            int number = 0;
            for (Steps.Step step : Steps.ALL) {
                number++;
                out.line("");
                out.line("%d. %s".formatted(number, step.title()));
                out.flush();
                long start = System.nanoTime();
                Steps.Shown shown = attempt(step, number, workspace, out, err);
                if (shown == null) {
                    return 1;
                }
                double millis = (System.nanoTime() - start) / 1e6;
                summary.row(shown.fact(), Text.bytes(shown.nbytes()), String.format(Locale.ROOT, "%.0f ms", millis));
            }
        }
        out.line("");
        summary.print(out);
        out.line("");
        out.line(
                "All steps were checked, and all temporary files are deleted. Next: croft inspect FILE.pt, croft "
                        + "convert FILE.pt FILE.croft");
        return 0;
    }

    private static Steps.@Nullable Shown attempt(Steps.Step step, int number, Workspace workspace, TextOutput out,
            PrintWriter err) {
        try {
            return step.body().run(workspace, out);
        } catch (Exception e) {
            out.flush();
            if (!workspace.isClosed()) {
                err.println(FormatException.printable(
                        "croft: quickstart failed at step " + number + " (" + step.title() + "): " + e.getMessage()));
            }
            return null;
        }
    }
}
