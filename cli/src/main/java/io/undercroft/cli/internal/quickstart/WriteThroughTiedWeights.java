package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;

/// Maps the `.croft` file and writes through one of two tied weights. The other sees it, the file does not: the mapping
/// is copy-on-write.
final class WriteThroughTiedWeights implements Step {
    private static final double WRITTEN = 0.5;

    @Override
    public String title() {
        return "Map it, and write through one of two tied weights";
    }

    @Override
    public Shown run(Workspace workspace, Output out) throws IOException {
        String before = Sha256.of(workspace.croftFile());
        long nbytes;
        try (Checkpoint checkpoint = Checkpoint.open(workspace.croftFile())) {
            Step.check(checkpoint.storages().stream().noneMatch(Storage::isMaterialized), "opening maps no storage");
            Tensor embedding = checkpoint.tensor(TiedWeights.EMBEDDING);
            Tensor head = checkpoint.tensor(TiedWeights.HEAD);
            Step.check(embedding.storage() == head.storage(), "tied weights are still one storage");

            double old = embedding.getDouble(3, 17);
            head.setDouble(3, 17, WRITTEN);
            double seen = embedding.getDouble(3, 17);

            out.line("   wrote  lm_head.weight[3, 17] = %s (it was %s)".formatted(WRITTEN, old));
            out.line("   read   transformer.wte.weight[3, 17] = %s".formatted(seen));
            Step.check(old != WRITTEN && seen == WRITTEN, "what is written through one name is read through the other");
            long mapped = checkpoint.storages().stream().filter(Storage::isMaterialized).count();
            Step.check(mapped == 1, "only the storage that was touched is mapped");
            nbytes = embedding.storage().nbytes();
        }
        Step.check(before.equals(Sha256.of(workspace.croftFile())), "the file on disk has not changed");
        out.line("   only this storage was mapped, and the file on disk has not changed");
        return new Shown("tied weights are one storage, mapped lazily", nbytes);
    }
}
