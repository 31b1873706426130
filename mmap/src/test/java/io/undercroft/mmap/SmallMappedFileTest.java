package io.undercroft.mmap;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.testsupport.PeerJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// The first small files of a process, which are opened without the C library. Each test runs in a JVM that has not
/// called it yet.
class SmallMappedFileTest {
    @TempDir
    Path folder;

    @Test
    void windowsOfAPrivateFileShareTheirBytesAndTheFileStaysAsItIs() throws Exception {
        assertThat(peer("windows")).isEqualTo("7 3 bound: false");
    }

    @Test
    void aFileThatIsCutOrReplacedIsNoticed() throws Exception {
        assertThat(peer("cut")).isEqualTo("TruncatedMappingException current: false bound: false");
    }

    @Test
    void anInterruptThatClosesTheChannelHarmsNoOtherThread() throws Exception {
        assertThat(peer("interrupt")).isEqualTo("all read bound: false");
    }

    @Test
    void memoryOfAFileThatNobodyClosesIsCollected() throws Exception {
        assertThat(peer("collect")).isEqualTo("collected bound: false");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aRangeThatIsLargerThanTheMemoryIsMappedByTheCLibrary() throws Exception {
        assertThat(peer("stitched")).isEqualTo("3 0 3 bound: true");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aLargeFileIsMappedByTheCLibrary() throws Exception {
        assertThat(peer("large")).isEqualTo("3 bound: true");
    }

    private String peer(String what) throws Exception {
        Path path = folder.resolve("file");
        byte[] bytes = new byte[what.equals("large") ? (4 << 20) + 1 : 100_000];
        bytes[5] = 3;
        Files.write(path, bytes);
        try (PeerJvm peer = PeerJvm.start(SmallFilePeer.class, what, path.toString())) {
            String answer = peer.answer();
            assertThat(peer.lines()).isEmpty();
            return answer;
        }
    }
}
