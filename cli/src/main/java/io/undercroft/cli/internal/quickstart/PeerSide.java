package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.IOException;

/// The second process of the quickstart, which knows only the name of the published checkpoint.
public final class PeerSide {
    /// The exit code when the first process was interrupted.
    private static final int FORSAKEN = 1;

    private PeerSide() {}

    /// Attaches, prints what it reads, writes, and reads the answer of the first process. The lines in between also
    /// order the writes of the two.
    ///
    /// @param in the output of the first process
    /// @param out the output of this process
    /// @return the exit code, 1 if the first process ends
    /// @throws IOException if the memory cannot be attached
    public static int run(BufferedReader in, Output out) throws IOException {
        String name = in.readLine();
        if (name == null) {
            return FORSAKEN;
        }
        try (Checkpoint shared = Steps.attach(name)) {
            say(out, "attached");
            Sha256 sha256 = new Sha256(ElementBudget.of(shared));
            for (String each : shared.names()) {
                say(out, each + " " + sha256.of(shared.tensor(each)).digest());
            }
            if (!"write".equals(in.readLine())) {
                return FORSAKEN;
            }
            Tensor head = shared.tensor(Steps.HEAD);
            head.setDouble(0, 0, Steps.QUESTION);
            say(out, "written");
            if (!"answered".equals(in.readLine())) {
                return FORSAKEN;
            }
            say(out, "read " + head.getDouble(0, 1));
            return 0;
        }
    }

    private static void say(Output out, String line) {
        out.line(line);
        out.flush();
    }
}
