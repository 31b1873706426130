package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// A process whose mappings or descriptors run out in the middle of an open is told so, keeps none of those that the
/// open had, and opens the file once there are some again.
@EnabledOnOs(OS.LINUX)
class LimitsTest {
    private static final Path MOST_MAPPINGS = Path.of("/proc/sys/vm/max_map_count");
    /// With far more the test would take long.
    private static final int LARGEST_LIMIT = 300_000;

    /// The JVM has mappings of its own: it takes them at the beginning, and does not say that it wants more.
    private static final List<String> ALL_AT_ONCE = List.of("-Xms256m", "-Xmx256m", "-Xmn64m",
            "-XX:InitialCodeCacheSize=32m", "-XX:+DisableExplicitGC", "-XX:-PrintWarnings");

    @TempDir
    Path folder;

    private static String answer(PeerJvm peer) throws IOException, InterruptedException {
        try (peer) {
            String answer = peer.answer();
            // Unmapping may need a mapping too. What stays mapped is logged, in two lines.
            while (answer.contains("Mapping isUnmapped") || answer.contains("bytes stay mapped")) {
                answer = peer.answer();
            }
            // For a class, for instance.
            assumeFalse(answer.startsWith("#"), "the JVM itself needed a mapping when none was left, and ended");
            assertThat(answer).doesNotContain("WRONG").startsWith("[").endsWith("]");
            peer.endsWell();
            return answer;
        }
    }

    @Test
    void mappingsThatRunOutWhileAFileIsOpenedAreTold() throws IOException, InterruptedException {
        assumeTrue(Integer.parseInt(Files.readAllLines(MOST_MAPPINGS).getFirst()) <= LARGEST_LIMIT);
        List<String> options = new ArrayList<>(PeerJvm.NATIVE);
        options.addAll(ALL_AT_ONCE);
        options.add("-XX:ErrorFile=" + folder.resolve("error"));
        PeerJvm peer = PeerJvm.startWith(options, LimitsPeer.class, folder.toString(), "mappings");
        assertThat(answer(peer)).contains("MappingException: ", "vm.max_map_count");
    }

    @Test
    void descriptorsThatRunOutWhileAFileIsOpenedAreTold() throws IOException, InterruptedException {
        assertThat(answer(PeerJvm.startAfter("ulimit -n 200", LimitsPeer.class, folder.toString(),
                "descriptors"))).contains("/many.croft: too many files are open", "ulimit -n",
                        "'base.croft': it cannot be opened: too many files are open");
    }
}
