package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.Text;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.Published;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.analysis.ElementBudget;
import io.undercroft.storage.Tensor;
import java.io.IOException;

/// Publishes the checkpoint in shared memory and starts a second JVM ([PeerSide]) that attaches, checks and writes it.
/// What one process writes through one tied weight, the other reads through the other weight.
final class ShareWithSecondProcess implements Step {
    /// The value that the second process writes, and the answer of this one.
    static final double QUESTION = 42;
    static final double ANSWER = 43;

    @Override
    public String title() {
        return "Share the storages with a second process";
    }

    @Override
    public Shown run(Workspace workspace, Output out) throws IOException, InterruptedException {
        try (Published published = publish(workspace);
                Checkpoint shared = attach(published.name());
                Peer peer = Peer.start()) {
            out.line("   %s in one segment of %s, /dev/shm/%s; process %d starts".formatted(
                    Text.count(shared.storages().size(), "storage"), Text.bytes(published.nbytes()), published.name(),
                    peer.pid()));
            peer.send(published.name() + "\n");
            peer.expect("attached");
            // From here on nothing remains in shared memory, even if both processes are killed.
            Published.unpublish(published.name());
            Sha256 sha256 = new Sha256(ElementBudget.of(shared));
            for (String name : shared.names()) {
                peer.expect(name + " " + sha256.of(shared.tensor(name)).digest());
            }
            out.line("   it attached and found %s equal in SHA-256".formatted(
                    Text.count(shared.names().size(), "tensor")));

            peer.send("write\n");
            peer.expect("written");
            Tensor embedding = shared.tensor(TiedWeights.EMBEDDING);
            double question = embedding.getDouble(0, 0);
            out.line("   it wrote lm_head.weight[0, 0]; here transformer.wte.weight[0, 0] = %s".formatted(question));
            Step.check(question == QUESTION, "what the second process writes is read here");

            embedding.setDouble(0, 1, ANSWER);
            peer.send("answered\n");
            peer.expect("read " + ANSWER);
            out.line("   here transformer.wte.weight[0, 1] = %s was written; it read that through lm_head.weight"
                    .formatted(ANSWER));
            Step.check(peer.end() == 0, "the second process ends well");
            return new Shown("two processes read and write the same storages", published.nbytes());
        }
    }

    private static Published publish(Workspace workspace) throws IOException {
        try (Checkpoint saved = Checkpoint.open(workspace.croftFile())) {
            return Published.publish(workspace.sharedName(), saved.state(), SaveOptions.defaults().writableInPlace(),
                    NameLifetime.WITH_CREATOR);
        }
    }

    /// Attaches so that each process sees what the other writes.
    static Checkpoint attach(String name) throws IOException {
        return Published.attach(name, OpenOptions.defaults().mapping(MapMode.SHARED));
    }
}
