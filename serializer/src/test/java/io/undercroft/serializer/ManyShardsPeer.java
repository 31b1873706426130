package io.undercroft.serializer;

import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;

/// Opens a set as one file, and reads all its tensors.
final class ManyShardsPeer {
    private ManyShardsPeer() {}

    /// Prints the numbers of files and tensors, and the sum of their first elements.
    ///
    /// @param arguments the manifest, and perhaps `inMemory`
    public static void main(String... arguments) throws IOException {
        OpenOptions options = arguments.length > 1 ? OpenOptions.defaults().inMemory() : OpenOptions.defaults();
        try (Checkpoint set = Checkpoint.open(Path.of(arguments[0]), options)) {
            long sum = 0;
            for (String name : set.names()) {
                Tensor tensor = set.tensor(name);
                sum += tensor.getLong(0);
            }
            System.out.println(set.files().size() + " files, " + set.names().size() + " tensors, sum " + sum);
        }
    }
}
