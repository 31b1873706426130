package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.FileLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files of three snapshots: tensor `a` is 1, then 2, then `b` comes.
class SnapshotsTest {
    private static final byte[] ONE = {1, 1, 1};
    private static final byte[] TWO = {2, 2, 2};

    @TempDir
    private Path folder;
    private Path file;
    private byte[] bytes;

    @BeforeEach
    void write() throws IOException {
        CroftImage first = CroftImage.first();
        first.write(ONE);
        CroftImage second = CroftImage.after(first.tensor("a", 3).commit("first", 0));
        long two = second.write(TWO);
        CroftImage third = CroftImage.after(second.tensor("a", 3).commit("second", 1_700_000_000_123L));
        third.reuse(two, TWO).tensor("a", 3).write(ONE);
        bytes = third.tensor("b", 3).commit("", 5);
        file = Files.write(folder.resolve("model.croft"), bytes);
    }

    @Test
    void allSnapshotsAreListedTheNewestFirst() throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.snapshots()).extracting(SnapshotInfo::sequence).containsExactly(3L, 2L, 1L);
            assertThat(checkpoint.snapshots()).extracting(SnapshotInfo::message).containsExactly("", "second", "first");
            assertThat(checkpoint.snapshots()).extracting(SnapshotInfo::time).containsExactly(
                    Optional.of(Instant.ofEpochMilli(5)), Optional.of(Instant.ofEpochMilli(1_700_000_000_123L)),
                    Optional.empty());
            SnapshotInfo newest = checkpoint.snapshots().getFirst();
            assertThat(checkpoint.snapshot()).contains(newest);
            assertThat(newest.committedLength()).isEqualTo(Files.size(file));
            assertThat(newest.rootDigest()).isEqualTo(CroftImage.snapshot(bytes).commit().rootDigest());
            assertThat(checkpoint.skippedCommit()).isEmpty();
            assertThat(checkpoint.verify().damages()).isEmpty();
        }
    }

    @Test
    void anySnapshotOpensByItsNumber() throws IOException {
        for (int sequence = 1; sequence <= 3; sequence++) {
            try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().snapshot(sequence))) {
                assertThat(checkpoint.snapshot().orElseThrow().sequence()).isEqualTo(sequence);
                assertThat(checkpoint.snapshots()).hasSize(3);
                assertThat(checkpoint.contains("b")).isEqualTo(sequence == 3);
                assertThat(checkpoint.tensor("a").getLong(2)).isEqualTo(sequence == 1 ? 1 : 2);
                assertThat(checkpoint.state()).asInstanceOf(InstanceOfAssertFactories.MAP)
                        .hasSize(sequence == 3 ? 2 : 1);
            }
        }
    }

    @Test
    void aSnapshotThatIsNotThereIsMissed() {
        OpenOptions fourth = OpenOptions.defaults().snapshot(4);
        assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(() -> Checkpoint.open(file, fourth))
                .withMessage(file + ": there is no snapshot 4, only those from 1 to 3");
        assertThatIllegalArgumentException().isThrownBy(() -> OpenOptions.defaults().snapshot(0))
                .withMessageContaining("from 1");
    }

    @Test
    void aNewerCommitThatWasPassedOverIsTold() throws IOException {
        bytes[(int) CroftImage.snapshot(bytes).header().recordOffset(3) + 100] ^= 1;
        Files.write(file, bytes);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.snapshot().orElseThrow().sequence()).isEqualTo(2);
            assertThat(checkpoint.skippedCommit()).get().extracting(FormatException::code).isEqualTo("V14-CHECKSUM");
            assertThat(checkpoint.skippedCommit()).get().extracting(FormatException::file).isEqualTo(file.toString());
        }
    }

    @Test
    void damageInAnEarlierSnapshotIsToldWithItsNumber() throws IOException {
        bytes[(int) FileLayout.MAPPING_ALIGNMENT] ^= 1;
        Files.write(file, bytes);
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat(checkpoint.verify().damages()).extracting(Damage::where)
                    .containsExactly("tensor 'a' of snapshot 1");
        }
    }
}
