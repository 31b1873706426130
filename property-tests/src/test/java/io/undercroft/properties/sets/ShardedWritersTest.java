package io.undercroft.properties.sets;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.ShardSet.Request;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/// Four writer processes and three reader processes with another layout. In each step one writer is killed while it
/// saves, and started again. Whatever moment that is, the manifest never names an incomplete set.
class ShardedWritersTest {
    private static final int WRITERS = 4;
    private static final int READERS = 3;
    private static final int ROWS = 96;
    private static final int COLUMNS = 1 << 14;
    /// The parts of the duration of a save after which the writer is killed.
    private static final double[] MOMENTS = {0, 0.05, 0.3, 0.6, 0.9};

    @TempDir
    private Path folder;

    private static double element(long step, long row, long column) {
        return step * 1e9 + row * COLUMNS + column;
    }

    /// A writer or a reader, which is told what to do line by line.
    static final class Peer {
        private Peer() {}

        @SuppressWarnings("SystemOut")
        public static void main(String... arguments) throws IOException {
            Path folder = Path.of(arguments[1]);
            int number = Integer.parseInt(arguments[2]);
            try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    long step = Long.parseLong(line);
                    if (arguments[0].equals("write")) {
                        Map<String, Object> state = state(step, number);
                        System.out.println("start");
                        Checkpoint.save(shard(folder, step, number), state,
                                SaveOptions.defaults().run("step " + step, WRITERS));
                        System.out.println("done");
                    } else {
                        System.out.println(read(folder, step, number));
                    }
                }
            }
        }
    }

    private static Path shard(Path folder, long step, int writer) {
        return folder.resolve("step-%s-%s.croft".formatted(step, writer));
    }

    private static Path manifest(Path folder, long step) {
        return folder.resolve("step-%s.croftset".formatted(step));
    }

    /// Writers have rows of one matrix and columns of another, and all have a vector.
    private static Map<String, Object> state(long step, int writer) {
        Shape shape = Shape.of(ROWS, COLUMNS);
        int rows = ROWS / WRITERS;
        int columns = COLUMNS / WRITERS;
        long row = (long) writer * rows;
        long column = (long) writer * columns;
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("rows", Slice.of(block(step, row, rows, 0, COLUMNS), shape, row, 0));
        state.put("columns",
                Slice.of(block(step, 0, ROWS, column, columns), shape, 0, column));
        state.put("vector", Slice.whole(block(step, 0, 1, 0, COLUMNS).select(0, 0)).replica(writer, WRITERS));
        state.put("writer", (long) writer);
        return state;
    }

    private static Tensor block(long step, long row, int rows, long column, int columns) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = element(step, row + i / columns, column + i % columns);
        }
        return Tensor.of(values, rows, columns);
    }

    /// Readers have columns of the first matrix, rows of the second, and all the vector.
    private static String read(Path folder, long step, int reader) {
        int columns = (COLUMNS + READERS - 1) / READERS;
        long column = (long) reader * columns;
        columns = (int) Math.min(columns, COLUMNS - column);
        int rows = ROWS / READERS;
        long row = (long) reader * rows;
        try (ShardSet set = ShardSet.open(manifest(folder, step))) {
            List<Tensor> read = set.tensors(List.of(
                    new Request("rows", new long[]{0, column}, Shape.of(ROWS, columns), Device.CPU),
                    new Request("columns", new long[]{row, 0}, Shape.of(rows, COLUMNS), Device.CPU),
                    new Request("vector", new long[]{0}, Shape.of(COLUMNS), Device.CPU)));
            return read.get(0).contentEquals(block(step, 0, ROWS, column, columns))
                    && read.get(1).contentEquals(block(step, row, rows, 0, COLUMNS))
                    && read.get(2).contentEquals(block(step, 0, 1, 0, COLUMNS).select(0, 0))
                    && read.get(0).dtype().equals(DType.FLOAT64) ? "right" : "wrong";
        } catch (IOException | RuntimeException e) {
            return e.toString();
        }
    }

    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    void theManifestNeverNamesAnIncompleteSetThoughWritersAreKilled() throws Exception {
        List<PeerJvm> writers = new ArrayList<>();
        List<PeerJvm> readers = new ArrayList<>();
        int inTheMiddle = 0;
        try {
            for (int number = 0; number < WRITERS; number++) {
                writers.add(PeerJvm.start(Peer.class, "write", folder.toString(), Integer.toString(number)));
            }
            for (int number = 0; number < READERS; number++) {
                readers.add(PeerJvm.start(Peer.class, "read", folder.toString(), Integer.toString(number)));
            }
            long step = 0;
            long nanos = undisturbed(++step, writers, readers);
            for (double moment : MOMENTS) {
                inTheMiddle += disturbed(++step, (int) step % WRITERS, (long) (moment * nanos), writers, readers);
            }
            // On a slow machine, all writers may have saved before they were killed.
            while (inTheMiddle == 0) {
                inTheMiddle += disturbed(++step, (int) step % WRITERS, 0, writers, readers);
            }
        } finally {
            writers.forEach(PeerJvm::close);
            readers.forEach(PeerJvm::close);
        }
    }

    /// Has all writers begin to save, one of them last.
    private static void start(long step, int last, List<PeerJvm> writers) throws IOException {
        for (int number = 0; number < WRITERS; number++) {
            if (number != last) {
                assertThat(writers.get(number).ask(Long.toString(step))).isEqualTo("start");
            }
        }
        assertThat(writers.get(last).ask(Long.toString(step))).isEqualTo("start");
    }

    /// {@return how long the last writer took}
    private long undisturbed(long step, List<PeerJvm> writers, List<PeerJvm> readers) throws IOException {
        start(step, WRITERS - 1, writers);
        long start = System.nanoTime();
        assertThat(writers.getLast().answer()).isEqualTo("done");
        long nanos = System.nanoTime() - start;
        for (PeerJvm writer : writers.subList(0, WRITERS - 1)) {
            assertThat(writer.answer()).isEqualTo("done");
        }
        assertThat(isCommitted(step)).isTrue();
        assertRead(step, readers);
        return nanos;
    }

    /// {@return 1 if the writer was killed before its shard was there, or else 0}
    private int disturbed(long step, int victim, long nanos, List<PeerJvm> writers, List<PeerJvm> readers)
            throws Exception {
        start(step, victim, writers);
        Thread killer = Thread.ofPlatform().start(() -> kill(writers.get(victim), nanos));
        boolean isCommitted = false;
        while (killer.isAlive()) {
            isCommitted |= isCommitted(step);
        }
        killer.join();
        boolean isMissing = Files.notExists(shard(folder, step, victim));
        for (int number = 0; number < WRITERS; number++) {
            if (number != victim) {
                assertThat(writers.get(number).answer()).isEqualTo("done");
            }
            isCommitted |= isCommitted(step);
        }
        assertThat(isCommitted).isEqualTo(!isMissing);
        for (PeerJvm reader : readers) {
            assertThat(reader.ask(Long.toString(step))).as("a set with a dead writer")
                    .matches(isMissing ? ".*NoSuchFileException.*" : "right");
        }
        writers.set(victim, PeerJvm.start(Peer.class, "write", folder.toString(), Integer.toString(victim)));
        if (isMissing) {
            assertThat(writers.get(victim).ask(Long.toString(step))).isEqualTo("start");
            assertThat(writers.get(victim).answer()).isEqualTo("done");
            assertThat(isCommitted(step)).isTrue();
        }
        assertRead(step, readers);
        return isMissing ? 1 : 0;
    }

    private static void kill(PeerJvm writer, long nanos) {
        try {
            TimeUnit.NANOSECONDS.sleep(nanos);
            writer.kill();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts this thread", e);
        }
    }

    private static void assertRead(long step, List<PeerJvm> readers) throws IOException {
        for (PeerJvm reader : readers) {
            reader.say(Long.toString(step));
        }
        for (PeerJvm reader : readers) {
            assertThat(reader.answer()).isEqualTo("right");
        }
    }

    /// Tries to commit what is there, whatever that is, as a committer does that does not know of the writers.
    ///
    /// @return whether the set is there
    private boolean isCommitted(long step) throws IOException {
        Path manifest = manifest(folder, step);
        List<Path> there = IntStream.range(0, WRITERS).mapToObj(number -> shard(folder, step, number))
                .filter(Files::exists).toList();
        if (there.isEmpty()) {
            return false;
        }
        if (Files.notExists(manifest)) {
            try {
                ShardSet.create(manifest, there);
            } catch (FormatException e) {
                assertThat(e.code()).isEqualTo("V21-SHARD");
                assertThat(there).hasSizeLessThan(WRITERS);
                return false;
            }
        }
        assertThat(there).hasSize(WRITERS);
        return true;
    }
}
