package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;

/// What the second process of the quickstart does. It has only what stands in the description: names of shared memory, and
/// which tensors stand on it.
public final class PeerSide {
    private PeerSide() {}

    /// Attaches, checks, writes, and reads what the first process answers. The lines in between also order the writes of the two.
    ///
    /// @param in what the first process says
    /// @param out what this one answers
    /// @return the exit code, 1 if the first process goes away
    /// @throws IOException if the memory cannot be attached
    public static int run(BufferedReader in, Output out) throws IOException {
        try (SharedTensors shared = SharedTensors.attach(in)) {
            say(out, "attached");
            say(out, "equal " + shared.countEqual());

            Tensor head = shared.tensor(TiedWeights.HEAD);
            head.setDouble(ShareWithSecondProcess.QUESTION, 0, 0);
            say(out, "written");

            if (!"answered".equals(in.readLine())) {
                return 1;
            }
            say(out, "read " + head.getDouble(0, 1));
            return 0;
        } catch (EOFException e) {
            // The first process was interrupted, and there is nobody left to tell.
            return 1;
        }
    }

    private static void say(Output out, String line) {
        out.line(line);
        out.flush();
    }
}
