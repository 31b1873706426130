package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Storage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// One of the JVMs of [PeersBenchmark] that have a file open at the same time. It reads the line `map FILE` or `load
/// FILE`, opens the file, and prints the sum of all bytes. The file stays open until the JVM ends.
final class OpenPeer {
    private OpenPeer() {}

    /// Runs until its input ends.
    ///
    /// @param arguments none
    /// @throws IOException if a file cannot be opened
    public static void main(String... arguments) throws IOException {
        List<Checkpoint> kept = new ArrayList<>();
        System.out.println("ready");
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", 2);
                OpenOptions options = OpenOptions.defaults();
                kept.add(Checkpoint.open(Path.of(words[1]), words[0].equals("load") ? options.inMemory() : options));
                long sum = 0;
                for (Storage storage : kept.getLast().storages()) {
                    sum += AttachPeer.sum(storage.segment());
                }
                System.out.println(sum);
            }
        }
    }
}
