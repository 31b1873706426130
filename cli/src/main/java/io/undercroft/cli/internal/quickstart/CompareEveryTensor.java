package io.undercroft.cli.internal.quickstart;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.cli.internal.Text;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.analysis.ElementBudget;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/// Compares both files: the same names, and for each the same geometry, bytes and storage.
final class CompareEveryTensor implements Step {
    @Override
    public String title() {
        return "Compare every tensor with the original";
    }

    @Override
    public Shown run(Workspace workspace, Output out) throws IOException {
        try (Checkpoint original = Checkpoint.open(workspace.torchFile());
                Checkpoint saved = Checkpoint.open(workspace.croftFile())) {
            Step.check(List.copyOf(original.names()).equals(List.copyOf(saved.names())), "both have the same names");
            Step.check(sharing(original).equals(sharing(saved)), "both share the same storages");
            Sha256 digests = new Sha256(ElementBudget.of(original, saved));
            long nbytes = 0;
            for (String name : original.names()) {
                Tensor expected = original.tensor(name);
                Tensor actual = saved.tensor(name);
                Step.check(sameGeometry(expected, actual), name + " has the same dtype, shape, strides and offset");
                Step.check(Objects.equals(digests.of(expected).digest(), digests.of(actual).digest()),
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
}
