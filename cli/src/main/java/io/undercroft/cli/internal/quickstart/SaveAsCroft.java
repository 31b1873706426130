package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;

/// Saves the same state in the library's own format: atomically, durably, every byte under a checksum.
final class SaveAsCroft implements Step {
    @Override
    public String title() {
        return "Save it as .croft";
    }

    @Override
    public Shown run(Workspace workspace, Output out) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(workspace.torchFile())) {
            Checkpoint.save(workspace.croftFile(), checkpoint.state());
        }
        long size = Files.size(workspace.croftFile());
        try (Checkpoint saved = Checkpoint.open(workspace.croftFile())) {
            Step.check(saved.verify().isIntact(), "every checksum of the saved file matches");
        }
        out.line("   %s: %s, durable, all checksums compared".formatted(workspace.croftFile().getFileName(),
                Text.bytes(size)));
        return new Shown("saved atomically and verified", size);
    }
}
