package io.undercroft.cli.internal.cuda;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Text;
import io.undercroft.cuda.CudaDevice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/// Checks storages and files on the first CUDA device, and measures rates, for `croft cuda-check`.
public final class CudaCheck {
    /// The files of the rates, and those that are written while they are measured.
    private static final int FILES = 6;
    private static final long SMALL_FILES = 256 << 20;

    private final Output out;
    private final Path directory;
    private final long size;
    private final Optional<String> python;
    private final CudaDevice device;

    /// Prepares a run.
    ///
    /// @param out the output for results
    /// @param directory the directory for files
    /// @param size the size of the files and of the large copies in bytes; 0 if nothing is to be measured
    /// @param python the Python interpreter that the user named
    public CudaCheck(Output out, Path directory, long size, Optional<String> python) {
        this.out = out;
        this.directory = directory;
        this.size = size;
        this.python = python;
        this.device = CudaDevice.of(0);
    }

    /// Runs everything and prints the results.
    ///
    /// @return whether all checks passed and no target was missed
    /// @throws IOException if the files cannot be written
    public boolean run() throws IOException {
        boolean isStandIn = device.name().contains("stand-in");
        if (isStandIn) {
            out.line("NO GPU: " + device.name()
                    + " replaces NVIDIA's driver in tests. Nothing below is a result of a GPU.");
        }
        long needed = FILES * size + SMALL_FILES;
        long free = Files.getFileStore(directory).getUsableSpace();
        if (free < needed) {
            throw new IOException(
                    "%s has %s free, and %s are needed; choose another directory with --dir, or less with --gib"
                            .formatted(directory, Text.bytes(free), Text.bytes(needed)));
        }
        Path work = Files.createTempDirectory(directory, "croft-cuda-check-");
        try {
            return run(work, isStandIn);
        } finally {
            delete(work);
        }
    }

    private boolean run(Path work, boolean isStandIn) throws IOException {
        CheckList checks = new CheckList(out);
        StorageChecks storages = new StorageChecks(checks, device);
        storages.run(work, size);
        new FormatChecks(checks, device.device(), work).run();
        FigureList figures = new FigureList(isStandIn);
        figures.add(Figure.of("checks that passed", checks.passed()));
        figures.add(Figure.of("checks that failed", checks.failed()).atMost(0));
        if (storages.copies() >= 0) {
            figures.add(
                    Figure.of("storages on the device of 1000 tensors on 10 storages", storages.copies()).atMost(10));
        }
        if (size > 0) {
            try (Peer peer = Peer.start(python)) {
                new Rates(figures, device, work, size, peer, out).run();
            }
        }
        figures.environment("device", device.name());
        figures.environment("gpu", isStandIn ? "none: a stand-in for tests" : "yes");
        figures.environment("compute capability", device.computeCapability());
        figures.environment("driver", "CUDA " + CudaDevice.driverVersion());
        figures.environment("jdk", System.getProperty("java.vm.vendor") + " " + System.getProperty("java.vm.version"));
        figures.environment("cpus", Integer.toString(Runtime.getRuntime().availableProcessors()));
        figures.environment("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
                + System.getProperty("os.arch"));
        figures.environment("filesystem", Files.getFileStore(work).type());
        figures.environment("size", Text.bytes(size));
        figures.print(out);
        return checks.failed() == 0 && figures.isMet();
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
}
