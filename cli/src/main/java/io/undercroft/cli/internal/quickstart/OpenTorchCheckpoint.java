package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.inspect.StateOutline;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Opens the `.pt` file in place: nothing in it is executed, and no tensor is read before it is used.
final class OpenTorchCheckpoint implements Step {
    @Override
    public String title() {
        return "Open what torch.save wrote";
    }

    @Override
    public Shown run(Workspace workspace, Output out) throws IOException {
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
            Step.check(checkpoint.storages().size() < checkpoint.names().size(), "some tensors share a storage");
        }
        return new Shown("a PyTorch checkpoint opens in place", size);
    }

    private static void printSharing(Checkpoint checkpoint, Output out) {
        for (Storage storage : checkpoint.storages()) {
            List<String> names = new ArrayList<>(checkpoint.names());
            names.removeIf(name -> checkpoint.tensor(name).storage() != storage);
            if (names.size() > 1) {
                out.line("   one storage of %s, used by: %s".formatted(Text.bytes(storage.nbytes()),
                        String.join(", ", names)));
            }
        }
    }
}
