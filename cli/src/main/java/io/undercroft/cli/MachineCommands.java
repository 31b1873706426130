package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;

import io.undercroft.cli.internal.Machine;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.cuda.CudaCheck;
import io.undercroft.cuda.CudaDevice;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/// The commands about the machine and its devices.
final class MachineCommands extends Commands {
    private static final String GIB = "--gib";
    private static final String DIRECTORY = "--dir";
    private static final String PYTHON = "--python";
    private static final String MINUTES = "--minutes";
    private static final String SWEEP = "--sweep";
    private static final double MOST_GIB = 4096;
    private static final double MOST_MINUTES = 1440;

    MachineCommands(TextOutput out, CommandRunner run) {
        super(out, run);
        add("doctor",
                "Shows the JDK and the features of this machine. They are native access, mapping, shared memory, huge "
                        + "pages, O_DIRECT and CUDA devices, or the reason why there is none.",
                () -> List.of(Arguments.json()), this::doctor);
        add("cuda-check",
                "Checks storages, checkpoints and copies on a CUDA device, and measures their speed. It is compared "
                        + "with PyTorch and safetensors if they are installed. Prints a table and, as the last line, a "
                        + "JSON object. Exits with 0 if all checks pass and all targets are met, 1 if not, and 3 if "
                        + "there is no CUDA device.",
                () -> List.of(
                        Arguments.text(GIB, "N",
                                "The size of the files and of the large copies in GiB, by default 4, or less if "
                                        + "there is less space; 0 measures nothing."),
                        Arguments.text(DIRECTORY, "DIR",
                                "The directory for files of up to 6 times that size, which are deleted again; by "
                                        + "default that of temporary files."),
                        Arguments.text(PYTHON, "PYTHON",
                                "The Python that has torch and safetensors; python3 by default."),
                        Arguments.text(MINUTES, "N",
                                "The time after which no further measurement starts, 8 minutes by default. On a "
                                        + "slow disk, files are smaller and there are fewer rounds."),
                        flag(SWEEP,
                                "Also measure loads with other numbers of threads and buffers, and their parts.")),
                this::cudaCheck);
    }

    private int doctor(Arguments arguments) {
        return run.of(() -> {
            if (arguments.has(Arguments.JSON)) {
                Machine.printJson(out);
            } else {
                Machine.print(out);
            }
            return CommandRunner.OK;
        });
    }

    private int cudaCheck(Arguments arguments) {
        double gib = number(arguments.text(GIB).orElse("4"));
        if (!(gib >= 0 && gib <= MOST_GIB)) {
            return run.complain(
                    "'%s' is no size for --gib; write a number of GiB, for instance 4".formatted(
                            arguments.text(GIB).orElse("")));
        }
        double minutes = number(arguments.text(MINUTES).orElse("8"));
        if (!(minutes > 0 && minutes <= MOST_MINUTES)) {
            return run.complain("'%s' is no time for --minutes; write a number of minutes, for instance 8"
                    .formatted(arguments.text(MINUTES).orElse("")));
        }
        Optional<String> missing = CudaDevice.unavailability();
        if (missing.isPresent()) {
            run.note("there is no CUDA device, so nothing was checked or measured: " + missing.get());
            return CommandRunner.MISSING;
        }
        Path directory = Path.of(arguments.text(DIRECTORY).orElse(System.getProperty("java.io.tmpdir")));
        return run.writing(directory, () -> {
            long size = arguments.text(GIB).isPresent()
                    ? (long) (gib * (1L << 30))
                    : CudaCheck.usualSize(directory);
            CudaCheck.Settings settings = new CudaCheck.Settings(directory, size,
                    arguments.text(PYTHON), Duration.ofMillis((long) (minutes * 60_000)), arguments.has(SWEEP));
            return new CudaCheck(out, settings).run() ? CommandRunner.OK : CommandRunner.FAILED;
        });
    }

    private static double number(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException _) {
            return Double.NaN;
        }
    }
}
