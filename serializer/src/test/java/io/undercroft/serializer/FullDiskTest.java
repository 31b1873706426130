package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Real file systems that are full, or may not be written: the failure says so, the file before is whole, and nothing
/// is left.
class FullDiskTest {
    @TempDir
    Path folder;

    private String refusals(PeerJvm peer) throws IOException, InterruptedException {
        try (peer) {
            String answer = peer.answer();
            assertThat(answer).doesNotContain("WRONG", "Exception");
            peer.endsWell();
            return answer;
        }
    }

    /// Of a file in the folder, on which something is mounted that only the other process sees.
    private String refusals(String mounting) throws IOException, InterruptedException {
        assumeTrue(PeerJvm.canMount());
        return refusals(PeerJvm.startMounting(mounting, FullDiskPeer.class, folder.resolve("a.croft").toString()));
    }

    @Test
    void aFullFileSystemInMemoryIsTold() throws IOException, InterruptedException {
        assertThat(refusals("mount -t tmpfs -o size=8m tmpfs " + Commands.quoted(folder)))
                .contains("No space left on device");
    }

    /// Here the page cache is passed by.
    @Test
    void aFullDiskIsTold() throws IOException, InterruptedException {
        Path image = folder.resolve("image");
        Path mounted = Files.createDirectory(folder.resolve("mounted"));
        String mounting = "truncate -s 24M %1$s && mkfs.ext4 -q -F %1$s && mount -o loop %1$s %2$s"
                .formatted(Commands.quoted(image), Commands.quoted(mounted));
        assumeTrue(Commands.succeed("unshare", "-m", "sh", "-c", mounting));
        assertThat(refusals(
                PeerJvm.startMounting("mount -o loop " + Commands.quoted(image) + " " + Commands.quoted(mounted),
                        FullDiskPeer.class, mounted.resolve("a.croft").toString())))
                .contains("No space left on device");
    }

    /// Not a byte is left, so that a lock that had to be written could not be taken, and compacting says what it needs.
    @Test
    void whereNoByteIsLeftNothingIsLeftBehindAndCompactingSaysHow() throws IOException, InterruptedException {
        assumeTrue(PeerJvm.canMount());
        assertThat(refusals(PeerJvm.startMounting("mount -t tmpfs -o size=8m tmpfs " + Commands.quoted(folder),
                FullDiskPeer.class, folder.resolve("a.croft").toString(), "exhausted")))
                .contains("No space left on device", "bytes that stay are written to a new file first",
                        "a file on another disk")
                .doesNotContain("lock", ".croft-tmp");
    }

    @Test
    void aFileSystemThatMayOnlyBeReadIsTold() throws IOException, InterruptedException {
        Path saved = folder.resolve("saved");
        Path mounted = Files.createDirectory(folder.resolve("mounted"));
        Checkpoint.save(saved, FullDiskPeer.state(1000, 1));
        String mounting = "mount -t tmpfs tmpfs %2$s && cp %1$s %2$s/a.croft && mount -o remount,ro %2$s"
                .formatted(Commands.quoted(saved), Commands.quoted(mounted));
        assumeTrue(PeerJvm.canMount());
        assertThat(refusals(PeerJvm.startMounting(mounting, FullDiskPeer.class,
                mounted.resolve("a.croft").toString()))).contains("Read-only file system").doesNotContain(".croft-tmp");
    }

    /// As it is with a quota.
    @Test
    void aLimitOfTheUserIsTold() throws IOException, InterruptedException {
        assumeTrue(Commands.succeed("sh", "-c", "ulimit -f 16384"));
        assertThat(refusals(PeerJvm.startAfter("ulimit -f 16384", FullDiskPeer.class,
                folder.resolve("a.croft").toString()))).contains("File too large");
    }
}
