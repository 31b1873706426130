package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// What `struct stat` says is what the JDK reads from it, and whose files are trusted.
@EnabledOnOs(OS.LINUX)
class FileStatusTest {
    private final Libc libc = Libc.find().orElseThrow();

    @TempDir
    Path folder;

    @Test
    void itSaysWhatTheJdkSays() throws IOException {
        Path file = Files.write(folder.resolve("f"), new byte[10]);
        Path link = Files.createSymbolicLink(folder.resolve("link"), file);
        for (Path path : new Path[]{file, link, folder, Path.of("/dev/null"), Path.of("/"), Path.of("/etc/passwd")}) {
            FileStatus status = libc.status(path.toString()).orElseThrow();
            assertThat(status.mode()).as("%s", path).isEqualTo(attribute(path, "mode"));
            assertThat(status.user()).as("%s", path).isEqualTo(((Integer) attribute(path, "uid")).longValue());
            assertThat(status.size()).as("%s", path).isEqualTo(attribute(path, "size"));
            assertThat(status.isRegular()).as("%s", path)
                    .isEqualTo(Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS));
            assertThat(status.identity().inode()).as("%s", path).isEqualTo(attribute(path, "ino"));
        }
        assertThat(libc.status(folder.resolve("nothing").toString())).isEqualTo(Optional.empty());
    }

    private static Object attribute(Path path, String name) throws IOException {
        return Files.getAttribute(path, "unix:" + name, LinkOption.NOFOLLOW_LINKS);
    }

    @Test
    void aUserTrustsItselfAndRoot() {
        FileStatus mine = new FileStatus(new FileIdentity(1, 1), 0100600, 1000, 0);
        assertThat(mine.isTrustedBy(1000)).isTrue();
        assertThat(mine.isTrustedBy(1001)).isFalse();
        assertThat(mine.isTrustedBy(0)).as("root does not trust its users").isFalse();
        FileStatus ofRoot = new FileStatus(new FileIdentity(1, 1), 0100600, 0, 0);
        assertThat(ofRoot.isTrustedBy(1000)).isTrue();
        assertThat(ofRoot.isTrustedBy(0)).isTrue();
    }
}
