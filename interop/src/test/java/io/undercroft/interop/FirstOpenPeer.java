package io.undercroft.interop;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;

/// Opens a file as the first thing that its JVM does, and reads names, a tensor and an element.
final class FirstOpenPeer {
    private FirstOpenPeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(Path.of(args[0]))) {
            String name = checkpoint.names().iterator().next();
            Tensor tensor = checkpoint.tensor(name);
            System.out.println(name.concat(" ").concat(Float.toString(tensor.getFloat(3, 17))));
        }
    }
}
