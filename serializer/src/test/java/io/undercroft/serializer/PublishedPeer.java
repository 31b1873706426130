package io.undercroft.serializer;

import io.undercroft.mmap.MapMode;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/// The other process: attaches to what is published, and does line by line what it is asked to.
final class PublishedPeer {
    private final Checkpoint checkpoint;

    private PublishedPeer(Checkpoint checkpoint) {
        this.checkpoint = checkpoint;
    }

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        OpenOptions options = OpenOptions.defaults().mapping(MapMode.valueOf(args[1]));
        try (Checkpoint checkpoint = PublishedCheckpoint.attach(args[0], options)) {
            PublishedPeer peer = new PublishedPeer(checkpoint);
            System.out.println("attached");
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(peer.answer(line.split(" ", -1)));
            }
        }
    }

    private Object answer(String... words) throws IOException {
        Tensor tensor = checkpoint.tensor(words[1]);
        return switch (words[0]) {
            case "get" -> tensor.getDouble(0);
            case "set" -> {
                tensor.setDouble(0, Double.parseDouble(words[2]));
                yield tensor.getDouble(0);
            }
            case "sum" -> sum(tensor);
            case "tied" -> tensor.storage() == checkpoint.tensor(words[2]).storage();
            case "sound" -> checkpoint.verify().isIntact();
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    /// A checksum of a tensor's storage.
    static long sum(Tensor tensor) {
        CRC32C sum = new CRC32C();
        sum.update(tensor.storage().segment().asByteBuffer());
        return sum.getValue();
    }
}
