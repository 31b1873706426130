package io.undercroft.serializer;

import java.io.IOException;

/// Attaches to a published state as the first thing that its JVM does, and reads names, a tensor and an element.
final class FirstAttachPeer {
    private FirstAttachPeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        try (Checkpoint checkpoint = PublishedCheckpoint.attach(args[0])) {
            String name = checkpoint.names().iterator().next();
            System.out.println(name.concat(" ").concat(Float.toString(checkpoint.tensor(name).getFloat(3, 17))));
        }
    }
}
