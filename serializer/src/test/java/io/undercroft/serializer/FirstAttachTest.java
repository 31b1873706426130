package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.PeerJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// What the first attach loads in a fresh JVM, which is most of the time that it takes: see docs/decisions/0067.
@EnabledOnOs(OS.LINUX)
class FirstAttachTest {
    private static final int MOST_CLASSES = 625;
    /// The native functions of one type are bound once.
    private static final int MOST_STUBS = 1;
    /// Libraries that attaching does not need.
    private static final List<String> NOT_NEEDED = List.of("net.openhft.", "org.slf4j.", "jdk.internal.logger.",
            "java.util.logging.", "java.lang.runtime.ObjectMethods");

    @TempDir
    Path folder;

    @Test
    void bindsOneTypeOfNativeFunctionAndLoadsFewClasses() throws Exception {
        String name = "undercroft-first-" + UUID.randomUUID();
        Path log = folder.resolve("classes.log");
        List<String> options = Stream
                .concat(PeerJvm.NATIVE.stream(), Stream.of("-Xshare:auto", "-Xlog:class+load:file=" + log)).toList();
        Map<String, Tensor> state = Map.of("weight", Tensor.full(DType.FLOAT32, 0.5, 64, 64));
        try (PublishedCheckpoint _ = PublishedCheckpoint.publish(name, state, SaveOptions.defaults());
                PeerJvm peer = PeerJvm.startWith(options, FirstAttachPeer.class, name)) {
            assertThat(peer.lines()).containsExactly("weight 0.5");
        } finally {
            PublishedCheckpoint.unpublish(name);
        }

        List<String> loaded = Files.readAllLines(log).stream().filter(line -> line.contains(" source: "))
                .filter(line -> !line.contains("shared objects file"))
                .map(line -> line.replaceFirst("^.*\\] (\\S+) source: .*", "$1")).toList();
        assertThat(loaded).contains(FirstAttachPeer.class.getName())
                .noneMatch(loadedClass -> NOT_NEEDED.stream().anyMatch(loadedClass::startsWith));
        assertThat(loaded).filteredOn(loadedClass -> loadedClass.startsWith("jdk.internal.foreign.abi.DowncallStub"))
                .hasSizeLessThanOrEqualTo(MOST_STUBS);
        assertThat(loaded).hasSizeLessThanOrEqualTo(MOST_CLASSES);
    }
}
