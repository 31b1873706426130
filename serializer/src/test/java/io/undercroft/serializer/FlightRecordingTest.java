package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class FlightRecordingTest {
    private static final String PREFIX = "io.undercroft.";
    private static final long NBYTES = 1 << 20;

    @TempDir
    Path folder;

    @Test
    void operationsAreRecordedWithTheirNamesAndBytes() throws IOException, InterruptedException {
        Path recording = folder.resolve("operations.jfr");
        String name = run("-XX:StartFlightRecording=filename=" + recording);

        Map<String, List<RecordedEvent>> events = RecordingFile.readAllEvents(recording).stream()
                .filter(event -> event.getEventType().getName().startsWith(PREFIX))
                .collect(Collectors.groupingBy(event -> event.getEventType().getName().substring(PREFIX.length())));
        Path saved = folder.resolve("saved.croft");
        long size = Files.size(saved);
        assertThat(told(events, "Save")).contains(saved + " " + size);
        assertThat(told(events, "Commit"))
                .containsExactly(folder.resolve("run.croft") + " " + NBYTES, folder.resolve("run.croft") + " 0");
        assertThat(told(events, "Open")).contains(saved + " " + size);
        assertThat(told(events, "Map")).contains(saved + " " + NBYTES);
        assertThat(told(events, "Verify")).containsExactly(saved + " " + size);
        assertThat(told(events, "Decode")).containsExactly(folder.resolve("coded.croft") + " " + NBYTES);
        assertThat(events.get("Fetch").stream().mapToLong(event -> event.getLong("bytes")).sum())
                .isGreaterThanOrEqualTo(NBYTES);
        assertThat(events.get("Fetch")).allMatch(event -> event.getString("name").endsWith("saved.croft"));
        assertThat(events.get("Publish")).hasSize(2)
                .allMatch(event -> event.getString("name").equals(name) && event.getLong("bytes") > NBYTES);
        assertThat(events.get("Attach")).allMatch(event -> event.getString("name").equals(name));
        assertThat(events.get("Follow")).hasSize(1).allMatch(event -> event.getString("name").equals(name));
        assertThat(events.values().stream().flatMap(List::stream)).allMatch(event -> event.getDuration().isPositive());
    }

    @Test
    void nothingOfTheRecorderIsLoadedWithoutARecording() throws IOException, InterruptedException {
        Path loaded = folder.resolve("loaded.log");
        run("-Xlog:class+load:file=" + loaded);

        List<String> classes = Files.readAllLines(loaded);
        assertThat(classes).anyMatch(line -> line.contains(" io.undercroft.storage.internal.support.Operation "));
        assertThat(classes).noneMatch(line -> line.contains("Operation$Recorder"))
                .filteredOn(line -> line.contains(" jdk.jfr.")).hasSizeLessThanOrEqualTo(1);
    }

    private static List<String> told(Map<String, List<RecordedEvent>> events, String kind) {
        return events.get(kind).stream().map(event -> event.getString("name") + " " + event.getLong("bytes")).toList();
    }

    private String run(String option) throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(PeerJvm.NATIVE);
        options.add(option);
        try (PeerJvm peer = PeerJvm.startWith(options, EveryOperation.class, folder.toString())) {
            return peer.lines().getLast();
        }
    }

    /// Does everything that is recorded, and prints the name of the published state.
    static final class EveryOperation {
        private EveryOperation() {}

        public static void main(String[] arguments) throws IOException {
            Path folder = Path.of(arguments[0]);
            Map<String, Object> state = Map.of("w", Tensor.zeros(DType.FLOAT32, NBYTES / 4).fill(1.5));
            Path saved = folder.resolve("saved.croft");
            Checkpoint.save(saved, state);
            try (CroftFile file = CroftFile.open(folder.resolve("run.croft"))) {
                file.commit(state, "first");
                file.commit(state, "second");
            }
            try (Checkpoint opened = Checkpoint.open(saved)) {
                touch(opened);
                opened.verify();
            }
            Path coded = folder.resolve("coded.croft");
            Checkpoint.save(coded, state, SaveOptions.defaults().compress(Compression.ALONE));
            try (Checkpoint opened = Checkpoint.open(coded)) {
                touch(opened);
            }
            try (Checkpoint opened = Checkpoint.open(FolderStore.uri(saved))) {
                touch(opened);
            }
            String name = "undercroft-test-" + ProcessHandle.current().pid();
            try (PublishedCheckpoint _ = PublishedCheckpoint.publish(name, state);
                    Follower follower = PublishedCheckpoint.follow(name);
                    PublishedCheckpoint _ = PublishedCheckpoint.publish(name, state);
                    Follower.Lease lease = follower.lease()) {
                touch(lease.checkpoint());
            } finally {
                PublishedCheckpoint.unpublish(name);
            }
            System.out.println(name);
        }

        private static void touch(Checkpoint checkpoint) {
            assertThat(checkpoint.tensor("w").getFloat(0)).isEqualTo(1.5f);
        }
    }
}
