package io.undercroft.cli.internal.cuda;

import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cuda.CudaDevice;
import io.undercroft.cuda.internal.DeviceChecks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;

/// Checks storages and files on the first CUDA device, and measures rates, for `croft cuda-check`.
public final class CudaCheck {
    /// The files of the rates, and those that are written while they are measured.
    private static final int FILES = 6;
    private static final long SMALL_FILES = 256 << 20;
    private static final long USUAL_SIZE = 4L << 30;
    /// Rates of smaller files say little. Smaller ones are measured on request only.
    private static final long LEAST_SIZE = 64 << 20;

    private final TextOutput out;
    private final Settings settings;
    private final CudaDevice device;

    /// The user's choices.
    ///
    /// @param directory the directory for files
    /// @param size the size of the files and of the large copies in bytes; 0 if nothing is to be measured
    /// @param python the Python interpreter that the user named
    /// @param time the time after which no further measurement is begun
    /// @param sweeps whether loads with other numbers of threads and buffers are measured too
    public record Settings(Path directory, long size, Optional<String> python, Duration time, boolean sweeps) {}

    /// {@return the size of the files unless the user chooses one, in bytes: 4 GiB, or less if there is less space}
    ///
    /// @param directory the directory for files
    /// @throws IOException if the directory does not exist, or has no space for files of 64 MiB
    public static long usualSize(Path directory) throws IOException {
        return usualSize(directory, Files.getFileStore(directory).getUsableSpace());
    }

    static long usualSize(Path directory, long free) throws IOException {
        long size = Math.min((free - SMALL_FILES) / FILES, USUAL_SIZE);
        if (size < LEAST_SIZE) {
            throw noSpace(directory, free, neededFor(LEAST_SIZE));
        }
        return size;
    }

    private static long neededFor(long size) {
        return FILES * size + SMALL_FILES;
    }

    private static IOException noSpace(Path directory, long free, long needed) {
        return new IOException(
                "%s has %s free, and %s are needed; choose another directory with --dir, or less with --gib"
                        .formatted(directory, Text.bytes(free), Text.bytes(needed)));
    }

    /// Prepares a run.
    ///
    /// @param out the output for results
    /// @param settings the user's choices
    public CudaCheck(TextOutput out, Settings settings) {
        this.out = out;
        this.settings = settings;
        this.device = CudaDevice.of(0);
    }

    /// Runs everything and prints the results.
    ///
    /// @return whether all checks passed and no target was missed
    /// @throws IOException if the files cannot be written
    public boolean run() throws IOException {
        TimeLimit time = new TimeLimit(settings.time);
        Path directory = settings.directory;
        boolean isStandIn = device.name().contains("stand-in");
        if (isStandIn) {
            out.line("NO GPU: " + device.name()
                    + " replaces NVIDIA's driver in tests. Nothing below is a result of a GPU.");
        }
        long needed = neededFor(settings.size);
        long free = Files.getFileStore(directory).getUsableSpace();
        if (free < needed) {
            throw noSpace(directory, free, needed);
        }
        Path work = Files.createTempDirectory(directory, "croft-cuda-check-");
        try {
            return run(work, isStandIn, time);
        } finally {
            delete(work);
        }
    }

    private boolean run(Path work, boolean isStandIn, TimeLimit time) throws IOException {
        CheckList checks = new CheckList(out);
        DeviceChecks storages = new DeviceChecks(device, work, settings.size);
        for (DeviceChecks.Check each : storages.all()) {
            if (each.omitted().isEmpty()) {
                checks.run(each.what(), each.body());
            } else {
                checks.omit(each.what(), each.omitted());
            }
        }
        SharingCheck.run(checks, device.device(), work);
        new FormatChecks(checks, device.device(), work).run();
        FigureList figures = new FigureList(isStandIn);
        figures.add(FigureList.Figure.of("checks that passed", checks.passed()));
        figures.add(FigureList.Figure.of("checks that failed", checks.failed()).atMost(0));
        if (storages.copies() >= 0) {
            figures.add(
                    FigureList.Figure.of("storages on the device of 1000 tensors on 10 storages", storages.copies())
                            .atMost(10));
        }
        boolean isMeasured = settings.size == 0 || measure(work, figures, time);
        figures.environment("device", device.name());
        figures.environment("gpu", isStandIn ? "none: a stand-in for tests" : "yes");
        figures.environment("compute capability", device.computeCapability());
        figures.environment("driver", "CUDA " + CudaDevice.driverVersion());
        figures.environment("jdk", System.getProperty("java.vm.vendor") + " " + System.getProperty("java.vm.version"));
        figures.environment("cpus", Integer.toString(Runtime.getRuntime().availableProcessors()));
        figures.environment("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                + System.getProperty("os.arch"));
        figures.environment("filesystem", Files.getFileStore(work).type());
        figures.print(out);
        return checks.failed() == 0 && isMeasured && figures.isMet();
    }

    /// Takes the measurements. A failure does not hide the results so far.
    ///
    /// @return whether nothing failed
    private boolean measure(Path work, FigureList figures, TimeLimit time) {
        try (PythonPeer peer = PythonPeer.start(settings.python, work.resolve("python.txt"))) {
            Rates rates = new Rates(figures, device, work, peer, out, time);
            rates.run(settings.size, settings.sweeps);
            return !rates.hasFailed();
        } catch (CancellationException e) {
            throw e;
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            figures.omit("the other rates", CheckList.problem(e));
            return false;
        }
    }

    private static void delete(Path directory) throws IOException {
        List<Path> files;
        try (Stream<Path> found = Files.walk(directory)) {
            files = found.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path file : files) {
            Files.delete(file);
        }
    }

    /// The time that a run may take.
    static final class TimeLimit {
        private final long end;

        /// Starts the time.
        ///
        /// @param most the maximum time
        TimeLimit(Duration most) {
            end = System.nanoTime() + most.toNanos();
        }

        /// {@return the remaining seconds; negative after the limit}
        double secondsLeft() {
            return (end - System.nanoTime()) / 1e9;
        }

        boolean isUp() {
            return secondsLeft() <= 0;
        }
    }
}
