package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class FreeMemoryTest {
    @TempDir
    private Path root;

    @Test
    @EnabledOnOs(OS.LINUX)
    void thisSystemSays() {
        assertThat(FreeMemory.bytes()).isPresent();
    }

    @Test
    void aSystemThatSaysNothingHasNoAnswer() {
        assertThat(new FreeMemory(root).least()).isEmpty();
    }

    @Test
    void withoutLimitsThereIsWhatTheHostHas() throws IOException {
        host();
        write("proc/self/cgroup", "0::/a\n1:name=systemd:/\nnonsense\n");
        write("sys/fs/cgroup/a/memory.max", "max\n");
        write("sys/fs/cgroup/a/memory.current", "5\n");
        assertThat(new FreeMemory(root).least()).hasValue(2_000 * 1024);
    }

    @Test
    void aGroupHasWhatItsLimitLeavesAndItsCachedFilesTake() throws IOException {
        host();
        write("proc/self/cgroup", "0::/a/b\n");
        write("sys/fs/cgroup/a/b/memory.max", "10000\n");
        write("sys/fs/cgroup/a/b/memory.current", "8000\n");
        assertThat(new FreeMemory(root).least()).hasValue(2000);
        write("sys/fs/cgroup/a/b/memory.stat", "anon 5000\ninactive_anon 5000\ninactive_file 2000\nactive_file 500\n");
        assertThat(new FreeMemory(root).least()).hasValue(4500);
        write("sys/fs/cgroup/a/memory.max", "100000\n");
        write("sys/fs/cgroup/a/memory.current", "99999\n");
        assertThat(new FreeMemory(root).least()).as("a group around it").hasValue(1);
    }

    @Test
    void groupsOfTheOldKindWhosePathIsTheHostsAreFoundAtTheTop() throws IOException {
        host();
        write("proc/self/cgroup", "9:cpu,memory:/docker/abc\n0::/\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n");
        write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9500\n");
        write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 800\n");
        assertThat(new FreeMemory(root).least()).hasValue(300);
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assertThat(new FreeMemory(root).least()).hasValue(2_000 * 1024);
    }

    @Test
    void aPathThatLeavesTheGroupsIsNotFollowed() throws IOException {
        host();
        write("proc/self/cgroup", "0::/../../x\n");
        write("sys/x/memory.max", "1\n");
        write("sys/x/memory.current", "1\n");
        assertThat(new FreeMemory(root).least()).hasValue(2_000 * 1024);
    }

    private void host() throws IOException {
        write("proc/meminfo", "MemTotal:  4000 kB\nMemAvailable:  2000 kB\n");
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
