package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.undercroft.testsupport.Commands;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/// `croft doctor` and `croft cuda-check`, without a device and with the stand-in for NVIDIA's driver of the module
/// cuda. Commands that use the driver run in a process of their own.
@Execution(ExecutionMode.CONCURRENT)
class MachineCommandsTest {
    private static final Path STAND_IN = Path.of("..", "cuda", "src", "test", "c", "libcuda.c");

    @TempDir
    private static Path library;
    private static boolean hasStandIn;

    @TempDir
    Path folder;

    private record Ended(int code, List<String> out, String err) {}

    @Test
    void doctorShowsWhatTheMachineOffersInOneTable() {
        Invocation run = Invocation.of("doctor");
        assertThat(run.code()).as(run.err()).isZero();
        assertThat(run.out().lines()).anyMatch(line -> line.matches("JDK +yes +25.*"))
                .anyMatch(line -> line.startsWith("native access  yes")).anyMatch(line -> line.startsWith("mapping"))
                .anyMatch(line -> line.startsWith("shared memory")).anyMatch(line -> line.startsWith("huge pages"))
                .anyMatch(line -> line.startsWith("O_DIRECT"))
                .anyMatch(line -> line.toLowerCase(Locale.ROOT).startsWith("cuda"));
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void doctorSaysInOneLineWhyThereIsNoDevice() throws Exception {
        Ended run = croft(withoutDevice(), "doctor");
        assertThat(run.code).isZero();
        assertThat(run.out).filteredOn(line -> line.startsWith("CUDA")).singleElement().asString()
                .matches("CUDA +no +NVIDIA's driver .*; .*");
        JsonNode json = new ObjectMapper().readTree(String.join("", croft(withoutDevice(), "doctor", "--json").out));
        assertThat(json.at("/cuda/available").asBoolean()).isFalse();
        assertThat(json.at("/cuda/reason").asText()).startsWith("NVIDIA's driver");
        assertThat(json.at("/cuda/devices")).isEmpty();
        assertThat(json.at("/findings")).anySatisfy(finding -> {
            assertThat(finding.get("what").asText()).isEqualTo("JDK");
            assertThat(finding.get("available").asBoolean()).isTrue();
        });
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void withoutADeviceNothingIsCheckedOrMeasured() throws Exception {
        Ended run = croft(withoutDevice(), "cuda-check");
        assertThat(run.code).isEqualTo(3);
        assertThat(run.out).isEmpty();
        assertThat(run.err).startsWith("croft: there is no CUDA device, so nothing was checked or measured: NVIDIA's");
    }

    @Test
    void aSizeThatIsNoneIsRefused() {
        for (String size : List.of("many", "-1", "NaN", "1e9")) {
            Invocation run = Invocation.of("cuda-check", "--gib=" + size);
            assertThat(run.code()).isEqualTo(2);
            assertThat(run.err()).contains("'" + size + "' is no size for --gib");
        }
        Invocation run = Invocation.of("cuda-check", "--minutes=0");
        assertThat(run.code()).isEqualTo(2);
        assertThat(run.err()).contains("'0' is no time for --minutes");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void theCheckPassesWithTheStandInAndSaysThatItIsNoGpu() throws Exception {
        Path work = Files.createDirectory(folder.resolve("a directory"));
        Ended run = croft(withStandIn(), "cuda-check", "--gib", "0.02", "--dir", work.toString(), "--python",
                folder.resolve("no-python").toString(), "--sweep");
        assertThat(run.out).noneMatch(line -> line.startsWith("FAILED"));
        assertThat(run.code).isZero();
        assertThat(run.out.getFirst()).startsWith("NO GPU: Test stand-in 0 (no GPU)");
        assertThat(run.out).filteredOn(line -> line.startsWith("passed")).hasSizeGreaterThanOrEqualTo(30)
                .anyMatch(line -> line.contains("1000 tensors on 10 storages"))
                .contains("passed   .gguf saved from the device", "passed   .t7 loaded to the device at once",
                        "passed   .pt with a device for each storage that a function chooses",
                        "passed   chosen tensors and rows of a file, without the rest", "passed   a set of files",
                        "passed   a storage that another process opens, reads and writes",
                        "passed   copies to other devices and back", "passed   one file loaded to all devices at once");
        assertThat(run.out)
                .anyMatch(line -> line.startsWith("not measured: torch.load(map_location='cuda'): there is no"));
        JsonNode json = new ObjectMapper().readTree(run.out.getLast());
        assertThat(json.get("name").asText()).isEqualTo("cuda-check without a GPU");
        assertThat(json.at("/env/gpu").asText()).startsWith("none");
        assertThat(json.get("figures")).filteredOn(figure -> figure.get("unit").asText().equals("GiB/s"))
                .hasSizeGreaterThanOrEqualTo(6)
                .allMatch(figure -> figure.get("target").isNull() && figure.get("samples").size() >= 3);
        assertThat(json.get("figures")).extracting(figure -> figure.get("what").asText())
                .contains("model.croft to device, in the page cache", "device to a .croft file",
                        "page cache to memory, not to the device: threads 1",
                        "load: threads 1, buffers 16 x 4.0 MiB", "load: without checksums",
                        "load: with buffers that have to be made", "allocating 16 x 64.0 MiB on the device");
        try (Stream<Path> left = Files.list(work)) {
            assertThat(left).isEmpty();
        }
    }

    /// Modules that replace PyTorch and safetensors, which need a GPU. The script and the exchange with it are real.
    @Test
    @EnabledOnOs(OS.LINUX)
    void oneRoundIsMeasuredThoughTheTimeIsUpAndLoadsOfPythonInTheSame() throws Exception {
        Path modules = Files.createDirectories(folder.resolve("modules/safetensors")).getParent();
        String load = """
                class Tensor:
                    def __init__(self, nbytes):
                        self.nbytes = nbytes
                    def to(self, device):
                        return self
                def load(path, **options):
                    with open(path, "rb") as file:
                        return {"all": Tensor(len(file.read()) // %s * %s)}
                """.formatted(1 << 20, 1 << 20);
        Files.writeString(modules.resolve("torch.py"), load + """
                __version__ = "0"
                zeros = lambda *sizes, device: None
                class cuda:
                    is_available = lambda: True
                    get_device_name = lambda index: "none"
                    synchronize = empty_cache = lambda: None
                """);
        Files.writeString(modules.resolve("safetensors/__init__.py"), "__version__ = '0'");
        Files.writeString(modules.resolve("safetensors/torch.py"), load + "load_file = load");
        ProcessBuilder process = withStandIn();
        process.environment().put("PYTHONPATH", modules.toString());
        Ended run = croft(process, "cuda-check", "--gib", "0.0078125", "--dir", folder.toString(), "--minutes",
                "0.001", "--sweep");
        assertThat(run.code).isZero();
        JsonNode json = new ObjectMapper().readTree(run.out.getLast());
        assertThat(json.get("figures")).filteredOn(figure -> figure.get("unit").asText().equals("GiB/s"))
                .isNotEmpty().allMatch(figure -> figure.get("samples").size() == 1);
        assertThat(run.out).contains("not measured: load: without checksums: the time is up");
        assumeTrue(Commands.succeed("python3", "--version"), "there is no python3");
        assertThat(json.at("/env/peers").asText()).isEqualTo("torch 0, safetensors 0, none");
        assertThat(json.get("figures")).extracting(figure -> figure.get("what").asText()).contains(
                "model.pt to device, in the page cache / torch.load(map_location='cuda')",
                "model.pt to device, in the page cache / torch.load(mmap=True), then to('cuda')",
                "model.safetensors to device, in the page cache / safetensors load_file(device='cuda')");
        assertThat(run.out).noneMatch(line -> line.startsWith("not measured: torch"));
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aFailedMeasurementDoesNotHideTheChecks() throws Exception {
        ProcessBuilder process = withStandIn();
        process.environment().put("UNDERCROFT_STANDIN_PINNED", Long.toString(40 << 20));
        Ended run = croft(process, "cuda-check", "--gib", "0.06", "--dir", folder.toString(), "--python",
                folder.resolve("no-python").toString(), "--minutes", "0.001");
        assertThat(run.code).isEqualTo(1);
        assertThat(run.out).anyMatch(line -> line.startsWith("not measured: the other rates: pinning host memory"));
        JsonNode json = new ObjectMapper().readTree(run.out.getLast());
        assertThat(json.at("/figures/0/what").asText()).isEqualTo("checks that passed");
        assertThat(json.at("/figures/0/value").asLong()).isGreaterThan(30);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void doctorListsDevicesThatTheDriverHas() throws Exception {
        ProcessBuilder process = withStandIn();
        assertThat(croft(process, "doctor").out).anyMatch(line -> line.matches(
                "cuda:0 +yes +Test stand-in 0 \\(no GPU\\), .* free of .*, compute capability 9.0, PCI .*, "
                        + "driver for CUDA .*"));
        JsonNode json = new ObjectMapper().readTree(String.join("", croft(process, "doctor", "--json").out));
        assertThat(json.at("/cuda/devices/0/name").asText()).isEqualTo("Test stand-in 0 (no GPU)");
        assertThat(json.at("/cuda/devices/0/memory_total").asLong()).isPositive();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aDirectoryWithTooLittleSpaceIsRefusedBeforeAnythingIsChecked() throws Exception {
        Ended run = croft(withStandIn(), "cuda-check", "--gib", "4096", "--dir", folder.toString());
        assertThat(run.code).isEqualTo(1);
        assertThat(run.err).contains("are needed; choose another directory with --dir, or less with --gib");
    }

    private static ProcessBuilder withoutDevice() {
        ProcessBuilder process = new ProcessBuilder();
        process.environment().put("CUDA_VISIBLE_DEVICES", "");
        return process;
    }

    @BeforeAll
    static void compileStandIn() throws InterruptedException {
        hasStandIn = Commands.succeed("cc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
                "-Wl,-soname,libcuda.so.1", "-o", library.resolve("libcuda.so.1").toString(), STAND_IN.toString(),
                "-lpthread");
    }

    /// The dynamic linker finds the stand-in where it would find the driver.
    private static ProcessBuilder withStandIn() {
        if (!"1".equals(System.getenv("UNDERCROFT_REQUIRE_CUDA_TESTS"))) {
            assumeTrue(hasStandIn, "there is no C compiler for the stand-in");
        }
        assertThat(hasStandIn).isTrue();
        ProcessBuilder process = new ProcessBuilder();
        process.environment().put("LD_LIBRARY_PATH", library.toString());
        return process;
    }

    /// Not every launcher of tests has it in `java.class.path`.
    private static String classPath() {
        return Croft.class.getClassLoader() instanceof URLClassLoader loader
                ? Stream.of(loader.getURLs()).map(url -> Path.of(URI.create(url.toString())).toString())
                        .collect(Collectors.joining(File.pathSeparator))
                : System.getProperty("java.class.path");
    }

    private Ended croft(ProcessBuilder process, String... arguments) throws IOException, InterruptedException {
        // With the optimizing compiler, which shortens the loops over elements of cuda-check.
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow",
                "-XX:MaxDirectMemorySize=8g", "-XX:+UseSerialGC", "-cp", classPath(), Croft.class.getName()));
        command.addAll(Arrays.asList(arguments));
        Path err = folder.resolve("stderr");
        Process started = process.command(command).redirectError(err.toFile()).start();
        String out = new String(started.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(started.waitFor(5, TimeUnit.MINUTES)).isTrue();
        return new Ended(started.exitValue(), out.lines().toList(), Files.readString(err));
    }
}
