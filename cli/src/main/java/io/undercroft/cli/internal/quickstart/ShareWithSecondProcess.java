package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;

/// Puts the storages into shared memory and starts a second JVM ([PeerSide]) that attaches, checks and writes them. What one
/// process writes through one tied weight, the other reads through the other weight.
final class ShareWithSecondProcess implements Step {
    /// What the second process writes, and what this one answers.
    static final double QUESTION = 42;
    static final double ANSWER = 43;

    @Override
    public String title() {
        return "Share the storages with a second process";
    }

    @Override
    public Shown run(Workspace workspace, Output out) throws IOException, InterruptedException {
        try (Checkpoint checkpoint = Checkpoint.open(workspace.croftFile());
                SharedTensors shared = SharedTensors.copyOf(checkpoint, workspace);
                Peer peer = Peer.start()) {
            long nbytes = shared.storages().stream().mapToLong(Storage::nbytes).sum();
            out.line("   %s of %s in /dev/shm, one segment each; process %d starts".formatted(
                    Text.count(shared.storages().size(), "storage"),
                    Text.bytes(nbytes), peer.pid()));

            peer.send(shared.describe());
            peer.expect("attached");
            // From here on nothing can stay behind, even if both processes are killed.
            workspace.unlinkSegments();
            peer.expect("equal " + shared.size());
            out.line("   it attached and found %s equal in SHA-256".formatted(Text.count(shared.size(), "tensor")));

            peer.expect("written");
            Tensor embedding = shared.tensor(TiedWeights.EMBEDDING);
            double question = embedding.getDouble(0, 0);
            out.line("   it wrote lm_head.weight[0, 0]; here transformer.wte.weight[0, 0] = %s".formatted(question));
            Step.check(question == QUESTION, "what the second process writes is read here");

            embedding.setDouble(ANSWER, 0, 1);
            peer.send("answered\n");
            peer.expect("read " + ANSWER);
            out.line("   here transformer.wte.weight[0, 1] = %s was written; it read that through lm_head.weight"
                    .formatted(ANSWER));
            Step.check(peer.end() == 0, "the second process ends well");
            return new Shown("two processes read and write the same storages", nbytes);
        }
    }
}
