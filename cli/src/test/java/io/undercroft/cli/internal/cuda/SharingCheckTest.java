package io.undercroft.cli.internal.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.storage.Device;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@EnabledOnOs(OS.LINUX)
class SharingCheckTest {
    @TempDir
    Path folder;

    @Test
    void theMemoryIsReleasedIfTheCheckIsInterrupted() throws Exception {
        CheckList checks = new CheckList(new TextOutput(OutputStream.nullOutputStream()));
        List<String> before = held();
        Thread.currentThread().interrupt();

        assertThatExceptionOfType(CancellationException.class)
                .isThrownBy(() -> SharingCheck.run(checks, Device.CPU, folder));

        assertThat(Thread.interrupted()).isTrue();
        assertThat(held()).isEqualTo(before);
    }

    /// Returns the names of shared memory that this process has open.
    private static List<String> held() throws Exception {
        return SharedMemory.list().stream().filter(segment -> segment.holders().stream()
                .anyMatch(holder -> holder.pid() == ProcessHandle.current().pid())).map(SharedSegment::name).toList();
    }
}
