package io.undercroft.properties.threads;

import static io.undercroft.properties.threads.Interleavings.require;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.threads.Interleavings.Action;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.LockedException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.StaleFileException;
import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.writing.Save;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/// Of writers that commit to one file at once, each gets a number of its own or is refused, and no commit is lost.
class CommitNumberSchedules {
    /// Writers of one file, each of which commits a state with its name.
    private static final class Writers implements Turns.Scenario {
        private final Path path;
        private final int before;
        private final Set<String> committed = new HashSet<>();

        /// The writers.
        ///
        /// @param scratch the place of the file
        /// @param before the number of commits that the file has, which the second writer has seen
        Writers(Scratch scratch, int before) {
            this.path = scratch.file("weights.croft");
            this.before = before;
        }

        @Override
        public Action[] begin(Turns turns) throws IOException {
            Files.deleteIfExists(path);
            committed.clear();
            Disk disk = new TurnDisk(turns, Disk.system());
            FileHistory first = new FileHistory();
            FileHistory second = new FileHistory();
            for (int number = 0; number < before; number++) {
                commit(disk, second, "before " + number);
            }
            return new Action[]{() -> commit(disk, first, "first"), () -> commit(disk, second, "second")};
        }

        private void commit(Disk disk, FileHistory history, String message) throws IOException {
            try {
                var _ = Save.prepareCommit(FileTarget.of(path, disk), history, message,
                        SaveOptions.defaults().message(message), null).run();
                committed.add(message);
            } catch (LockedException | StaleFileException _) {
                // The other one is writing, or has committed.
            }
        }

        @Override
        public void check() throws IOException {
            require(committed.size() > before, "both were refused");
            List<SnapshotInfo> snapshots;
            try (Checkpoint newest = Checkpoint.open(path)) {
                snapshots = newest.snapshots();
                require(newest.verify().damages().isEmpty(), "damaged");
            }
            Set<String> messages = new HashSet<>();
            List<Long> numbers = new ArrayList<>();
            for (SnapshotInfo snapshot : snapshots) {
                messages.add(snapshot.message());
                numbers.add(snapshot.commit());
            }
            require(messages.equals(committed), "committed " + committed + ", and the file has " + messages);
            require(Set.copyOf(numbers).size() == committed.size(), "the numbers are " + numbers);
        }
    }

    @Test
    void twoWritersMakeTheFirstCommit() throws Exception {
        try (Scratch scratch = Scratch.make()) {
            Interleavings.explore("first commit against first commit", new Writers(scratch, 0));
        }
    }

    @Test
    void twoWritersCommitToAFile() throws Exception {
        try (Scratch scratch = Scratch.make()) {
            Interleavings.explore("commit against commit", new Writers(scratch, 2));
        }
    }
}
