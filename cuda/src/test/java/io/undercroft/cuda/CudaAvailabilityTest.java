package io.undercroft.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// What machines without a usable device say, each in a JVM of its own, and what jcuda's native library is loaded from.
@NeedsStandIn
class CudaAvailabilityTest {
    private static final String JCUDA = "lib/libJCudaDriver-12.6.0-linux-x86_64.so";
    private static final List<String> ALLOWED = List.of("--enable-native-access=ALL-UNNAMED");

    @TempDir
    private Path folder;

    private static String run(List<String> options, Map<String, String> environment, String classPath,
            String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(options);
        command.addAll(List.of("-cp", classPath, Availability.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(environment);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        assertThat(process.exitValue()).as(output).isZero();
        return output;
    }

    private static String withStandIn(Map<String, String> environment, String... options)
            throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(ALLOWED);
        all.add("-Dundercroft.standin=" + StandIn.library());
        all.addAll(List.of(options));
        return run(all, environment, classPathWithout("?"));
    }

    private static String classPathWithout(String jar) {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !Path.of(entry).getFileName().toString().startsWith(jar))
                .collect(Collectors.joining(File.pathSeparator));
    }

    @Test
    void withoutADriverEverythingElseWorks() throws Exception {
        String output = run(ALLOWED, Map.of(), classPathWithout("?"));
        assumeFalse(output.contains("available: true"), "there is a driver and a device");
        assumeFalse(output.contains("there is no CUDA device"), "there is a driver");
        assertThat(output).contains("available: false, devices: 0[]",
                "why not: NVIDIA's driver is not installed: there is no libcuda.so.1; install the driver, or in a "
                        + "container run it with --gpus all; if it is in a directory",
                "copying: using cuda:0 failed: CUDA_ERROR_NO_DEVICE (100) of cuInit; NVIDIA's driver is not installed",
                "pinning: there is no pinned memory here");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            DEVICES | 0     | NVIDIA's driver is installed, but there is no CUDA device; see what nvidia-smi lists
            VERSION | 11040 | NVIDIA's driver is too old: it supports CUDA 11.4; install one that supports CUDA 12.0
            INIT    | 803   | CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803) of cuInit; the driver was updated; start the \
            machine
            INIT    | 34    | CUDA_ERROR_STUB_LIBRARY (34) of cuInit; the CUDA toolkit's stub of libcuda.so.1 was found
            """)
    void aDriverThatCannotBeUsedSaysWhy(String setting, String value, String reason) throws Exception {
        String output = withStandIn(Map.of("UNDERCROFT_STANDIN_" + setting, value));
        assertThat(output).contains("available: false, devices: 0[]", reason, "copying: using cuda:0 failed: ",
                "pinning: ");
    }

    @Test
    void aDriverWithoutPoolsAllocatesWithoutThem() throws Exception {
        assertThat(withStandIn(Map.of("UNDERCROFT_STANDIN_POOLS", "0", "UNDERCROFT_STANDIN_DEVICES", "1")))
                .contains("available: true, devices: 1[cuda:0 (Test stand-in 0 (no GPU))]", "copied: [2]",
                        "pinned: true");
    }

    @Test
    void newerDriversAreUsed() throws Exception {
        for (String version : List.of("12090", "13020", "14000")) {
            assertThat(withStandIn(Map.of("UNDERCROFT_STANDIN_VERSION", version, "UNDERCROFT_STANDIN_DEVICES", "1")))
                    .contains("available: true, devices: 1[", "copied: [2]", "pinned: true");
        }
    }

    @Test
    void theDriverIsFoundWhereTheDynamicLinkerLooks() throws Exception {
        String output = run(ALLOWED, Map.of("LD_LIBRARY_PATH", StandIn.library().getParent().toString()),
                classPathWithout("?"));
        assertThat(output).contains("available: true", "copied: [2]");
    }

    @Test
    void theDriverIsFoundInADirectoryThatTheDynamicLinkerDoesNotKnow() throws Exception {
        Path unknown = Files.createDirectories(folder.resolve("un known/lib64"));
        Files.copy(StandIn.library(), unknown.resolve("libcuda.so.1"));
        List<String> options = List.of(ALLOWED.getFirst(), "-Dundercroft.folder=" + unknown);
        assertThat(run(options, Map.of(), classPathWithout("?"))).contains("available: true", "copied: [2]");
    }

    @Test
    void nativeAccessThatIsDeniedSaysHowToAllowIt() throws Exception {
        assertThat(run(List.of("--illegal-native-access=deny"), Map.of(), classPathWithout("?")))
                .contains("why not: this JVM denies native access; run it with --enable-native-access=ALL-UNNAMED");
    }

    @Test
    void missingJarsAreNamed() throws Exception {
        List<String> options = List.of(ALLOWED.getFirst(), "-Dundercroft.standin=" + StandIn.library());
        assertThat(run(options, Map.of(), classPathWithout("jcuda-natives")))
                .contains("why not: jcuda cannot be loaded (Error while loading native library",
                        "jcuda-natives of linux-x86_64");
        assertThat(run(options, Map.of(), classPathWithout("jcuda")))
                .contains("why not: jcuda cannot be loaded (jcuda/driver/JCudaDriver); see that jcuda and",
                        "copying: using cuda:0 failed");
    }

    @Test
    void aLibraryThatSomebodyPutIntoTheTemporaryDirectoryIsNotLoaded() throws Exception {
        Path planted = folder.resolve(Path.of(JCUDA).getFileName());
        Files.writeString(planted, "not what jcuda unpacks");
        List<String> options = List.of(ALLOWED.getFirst(), "-Dundercroft.standin=" + StandIn.library(),
                "-Djava.io.tmpdir=" + folder);
        assertThat(run(options, Map.of(), classPathWithout("?"), folder.toString()))
                .contains("available: true", "copied: [2]", "left: [" + planted.getFileName() + "]");
    }

    @Test
    void aTemporaryDirectoryThatIsNotThereIsNamed() throws Exception {
        String missing = folder.resolve("missing").toString();
        assertThat(withStandIn(Map.of(), "-Djava.io.tmpdir=" + missing))
                .contains("why not: jcuda cannot be loaded", missing + " is there");
    }

    @Test
    void aProgramMayRemoveThePropertyOfTheTemporaryDirectory() throws Exception {
        assertThat(withStandIn(Map.of(), "-Dundercroft.removetmpdir=true")).contains("available: true", "copied: [2]");
    }
}
