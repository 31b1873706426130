package io.undercroft.benchmarks;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Published;
import io.undercroft.storage.Storage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/// One of the JVMs of [AttachBenchmark]. It reads the line `attach NAME TENSOR TIMES`, and prints the milliseconds of
/// each time; then `read NAME`, and prints the sum of all bytes. What it read stays attached until it ends.
final class AttachPeer {
    private AttachPeer() {}

    /// Runs until its input ends.
    ///
    /// @param arguments none
    /// @throws IOException if a name cannot be attached
    public static void main(String... arguments) throws IOException {
        List<Checkpoint> kept = new ArrayList<>();
        System.out.println("ready");
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", -1);
                if (words[0].equals("attach")) {
                    System.out.println(attach(words[1], words[2], Integer.parseInt(words[3])));
                } else {
                    kept.add(Published.attach(words[1]));
                    System.out.println(sum(kept.getLast()));
                }
            }
        }
    }

    private static String attach(String name, String tensor, int times) throws IOException {
        List<String> millis = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            long start = System.nanoTime();
            try (Checkpoint checkpoint = Published.attach(name)) {
                if (checkpoint.tensor(tensor).getFloat(1, 3) == 0) {
                    throw new IOException("the element of " + tensor + " is not what was published");
                }
                millis.add(Double.toString((System.nanoTime() - start) / 1e6));
            }
        }
        return String.join(" ", millis);
    }

    private static long sum(Checkpoint checkpoint) {
        long sum = 0;
        for (Storage storage : checkpoint.storages()) {
            sum += sum(storage.segment());
        }
        return sum;
    }

    /// {@return the sum of the words of some bytes}
    static long sum(MemorySegment bytes) {
        long sum = 0;
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            sum += bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
        }
        return sum;
    }
}
