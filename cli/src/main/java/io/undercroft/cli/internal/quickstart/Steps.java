package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.StateOutline;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// What the quickstart shows, one after the other. Each step uses one feature of the library, as a program would, and
/// then checks the result. A step depends on earlier ones only through the files in the workspace.
final class Steps {
    /// The names of the two tensors that are one in GPT-2: the token embedding is also the output layer.
    static final String EMBEDDING = "model/transformer.wte.weight";
    static final String HEAD = "model/lm_head.weight";
    private static final double WRITTEN = 0.5;
    /// The value that the second process writes, and the answer of this one.
    static final double QUESTION = 42;
    static final double ANSWER = 43;

    static final List<Step> ALL = List.of(
            new Step("Open what torch.save wrote", Steps::openTorchCheckpoint),
            new Step("Save it as .croft", Steps::saveAsCroft),
            new Step("Map it, and write through one of two tied weights", Steps::writeThroughTiedWeights),
            new Step("Compare every tensor with the original", Steps::compareEveryTensor),
            new Step("Share the storages with a second process", Steps::shareWithSecondProcess));

    private Steps() {}

    /// One step.
    ///
    /// @param title its heading
    /// @param body runs it, prints what it shows, and checks that
    record Step(String title, Body body) {}

    /// What a step does.
    @FunctionalInterface
    interface Body {
        /// {@return the text for the table at the end}
        ///
        /// @throws Exception if it fails or a claim does not hold
        Shown run(Workspace workspace, TextOutput out) throws Exception;
    }

    /// The result of a step.
    ///
    /// @param fact in a few words
    /// @param nbytes the number of bytes it was shown with
    record Shown(String fact, long nbytes) {}

    /// Fails the step unless a claim holds.
    private static void check(boolean holds, String claim) {
        if (!holds) {
            throw new IllegalStateException("this is not true: " + claim);
        }
    }

    /// Opens the `.pt` file in place: nothing in it is executed, and no tensor is read before it is used.
    private static Shown openTorchCheckpoint(Workspace workspace, TextOutput out) throws IOException {
        long size = Files.size(workspace.torchFile());
        try (Checkpoint checkpoint = Checkpoint.open(workspace.torchFile())) {
            out.line("   %s: %s, %s".formatted(checkpoint.path().getFileName(), checkpoint.format(), Text.bytes(size)));
            if (checkpoint.state() instanceof Map<?, ?> state) {
                state.forEach((key, value) -> out.line("   %-9s  %s".formatted(key, StateOutline.of(value))));
            }
            long nbytes = checkpoint.storages().stream().mapToLong(Storage::nbytes).sum();
            out.line("   %s on %s of %s".formatted(Text.count(checkpoint.names().size(), "tensor"),
                    Text.count(checkpoint.storages().size(), "storage"), Text.bytes(nbytes)));
            printSharing(checkpoint, out);
            check(checkpoint.storages().size() < checkpoint.names().size(), "some tensors share a storage");
        }
        return new Shown("a PyTorch checkpoint opens in place", size);
    }

    private static void printSharing(Checkpoint checkpoint, TextOutput out) {
        for (Storage storage : checkpoint.storages()) {
            List<String> names = new ArrayList<>(checkpoint.names());
            names.removeIf(name -> checkpoint.tensor(name).storage() != storage);
            if (names.size() > 1) {
                out.line("   one storage of %s, used by: %s".formatted(Text.bytes(storage.nbytes()),
                        String.join(", ", names)));
            }
        }
    }

    /// Saves the same state in the library's own format: atomically, durably, every byte under a checksum.
    private static Shown saveAsCroft(Workspace workspace, TextOutput out) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(workspace.torchFile())) {
            Checkpoint.save(workspace.croftFile(), checkpoint.state());
        }
        long size = Files.size(workspace.croftFile());
        try (Checkpoint saved = Checkpoint.open(workspace.croftFile())) {
            check(saved.verify().isIntact(), "every checksum of the saved file matches");
        }
        out.line("   %s: %s, durable, all checksums compared".formatted(workspace.croftFile().getFileName(),
                Text.bytes(size)));
        return new Shown("saved atomically and verified", size);
    }

    /// Maps the `.croft` file and writes through one of two tied weights. The other sees it, the file does not: the
    /// mapping is copy-on-write.
    private static Shown writeThroughTiedWeights(Workspace workspace, TextOutput out) throws IOException {
        String before = Sha256.of(workspace.croftFile());
        long nbytes;
        try (Checkpoint checkpoint = Checkpoint.open(workspace.croftFile())) {
            check(checkpoint.storages().stream().noneMatch(Storage::isMaterialized), "opening maps no storage");
            Tensor embedding = checkpoint.tensor(EMBEDDING);
            Tensor head = checkpoint.tensor(HEAD);
            check(embedding.storage() == head.storage(), "tied weights are still one storage");

            double old = embedding.getDouble(3, 17);
            head.setDouble(3, 17, WRITTEN);
            double seen = embedding.getDouble(3, 17);

            out.line("   wrote  lm_head.weight[3, 17] = %s (it was %s)".formatted(WRITTEN, old));
            out.line("   read   transformer.wte.weight[3, 17] = %s".formatted(seen));
            check(old != WRITTEN && seen == WRITTEN, "what is written through one name is read through the other");
            long mapped = checkpoint.storages().stream().filter(Storage::isMaterialized).count();
            check(mapped == 1, "only the storage that was touched is mapped");
            nbytes = embedding.storage().nbytes();
        }
        check(before.equals(Sha256.of(workspace.croftFile())), "the file on disk has not changed");
        out.line("   only this storage was mapped, and the file on disk has not changed");
        return new Shown("tied weights are one storage, mapped lazily", nbytes);
    }

    /// Compares both files: the same names, and for each the same geometry, bytes and storage.
    private static Shown compareEveryTensor(Workspace workspace, TextOutput out) throws IOException {
        try (Checkpoint original = Checkpoint.open(workspace.torchFile());
                Checkpoint saved = Checkpoint.open(workspace.croftFile())) {
            check(List.copyOf(original.names()).equals(List.copyOf(saved.names())), "both have the same names");
            check(sharing(original).equals(sharing(saved)), "both share the same storages");
            Sha256 digests = new Sha256(ElementBudget.of(original, saved));
            long nbytes = 0;
            for (String name : original.names()) {
                Tensor expected = original.tensor(name);
                Tensor actual = saved.tensor(name);
                check(sameGeometry(expected, actual), name + " has the same dtype, shape, strides and offset");
                check(Objects.equals(digests.of(expected).digest(), digests.of(actual).digest()),
                        name + " has the same SHA-256");
                nbytes += actual.dtype().nbytes(actual.numel());
            }
            out.line("   %s, %s: equal in SHA-256, dtype, shape, strides, offset and sharing"
                    .formatted(Text.count(original.names().size(), "tensor"), Text.bytes(nbytes)));
            return new Shown("every tensor equal, proved by SHA-256", nbytes);
        }
    }

    /// For each name the number of its storage.
    private static List<Integer> sharing(Checkpoint checkpoint) {
        List<Storage> storages = checkpoint.storages();
        List<Integer> numbers = new ArrayList<>();
        checkpoint.names().forEach(name -> numbers.add(storages.indexOf(checkpoint.tensor(name).storage())));
        return numbers;
    }

    private static boolean sameGeometry(Tensor a, Tensor b) {
        return a.dtype().equals(b.dtype()) && a.shape().equals(b.shape()) && a.storageOffset() == b.storageOffset()
                && Arrays.equals(a.stride(), b.stride()) && a.flags().equals(b.flags());
    }

    /// Publishes the checkpoint in shared memory and starts a [SecondProcess] that attaches, checks and writes
    /// it. What one process writes through one tied weight, the other reads through the other weight.
    private static Shown shareWithSecondProcess(Workspace workspace, TextOutput out)
            throws IOException, InterruptedException {
        try (PublishedCheckpoint published = publish(workspace);
                Checkpoint shared = attach(published.name());
                SecondProcess peer = SecondProcess.start()) {
            out.line("   %s in one segment of %s, /dev/shm/%s; process %d starts".formatted(
                    Text.count(shared.storages().size(), "storage"), Text.bytes(published.nbytes()), published.name(),
                    peer.pid()));
            peer.send(published.name() + "\n");
            peer.expect("attached");
            // From here on nothing remains in shared memory, even if both processes are killed.
            PublishedCheckpoint.unpublish(published.name());
            Sha256 sha256 = new Sha256(ElementBudget.of(shared));
            for (String name : shared.names()) {
                peer.expect(name + " " + sha256.of(shared.tensor(name)).digest());
            }
            out.line("   it attached and found %s equal in SHA-256".formatted(
                    Text.count(shared.names().size(), "tensor")));

            peer.send("write\n");
            peer.expect("written");
            Tensor embedding = shared.tensor(EMBEDDING);
            double question = embedding.getDouble(0, 0);
            out.line("   it wrote lm_head.weight[0, 0]; here transformer.wte.weight[0, 0] = %s".formatted(question));
            check(question == QUESTION, "what the second process writes is read here");

            embedding.setDouble(0, 1, ANSWER);
            peer.send("answered\n");
            peer.expect("read " + ANSWER);
            out.line("   here transformer.wte.weight[0, 1] = %s was written; it read that through lm_head.weight"
                    .formatted(ANSWER));
            check(peer.end() == 0, "the second process ends well");
            return new Shown("two processes read and write the same storages", published.nbytes());
        }
    }

    private static PublishedCheckpoint publish(Workspace workspace) throws IOException {
        try (Checkpoint saved = Checkpoint.open(workspace.croftFile())) {
            return PublishedCheckpoint.publish(workspace.sharedName(), saved.state(),
                    SaveOptions.defaults().writableInPlace(),
                    NameLifetime.WITH_CREATOR);
        }
    }

    /// Attaches so that each process sees what the other writes.
    static Checkpoint attach(String name) throws IOException {
        return PublishedCheckpoint.attach(name, OpenOptions.defaults().mapping(MapMode.SHARED));
    }
}
