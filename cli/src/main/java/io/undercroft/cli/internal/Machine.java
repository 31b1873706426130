package io.undercroft.cli.internal;

import static io.undercroft.cli.internal.Table.left;

import io.undercroft.cuda.CudaDevice;
import io.undercroft.mmap.Pages;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// The features of this machine and this JVM.
public final class Machine {
    /// Earlier updates of this release can corrupt data (JDK-8377811).
    private static final Runtime.Version OLDEST = Runtime.Version.parse("25.0.3");
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Path HUGE_PAGES = Path.of("/sys/kernel/mm/transparent_hugepage");
    private static final Pattern SELECTED = Pattern.compile("\\[(\\w+)]");

    private Machine() {}

    /// One thing that was looked for.
    ///
    /// @param what its name, for instance `huge pages`
    /// @param isAvailable whether it can be used
    /// @param found a description of what was found, or the reason why it cannot be used, and a remedy
    public record Finding(String what, boolean isAvailable, String found) {}

    /// {@return all findings except for the CUDA devices}
    public static List<Finding> findings() {
        return List.of(jdk(Runtime.version()), nativeAccess(), mapping(), sharedMemory(), hugePages(), directIo());
    }

    /// {@return the findings about CUDA: one for each device, or one with the reason why there is none} Never throws.
    public static List<Finding> cudaFindings() {
        Optional<String> missing = CudaDevice.unavailability();
        if (missing.isPresent()) {
            return List.of(new Finding("CUDA", false, missing.get()));
        }
        List<Finding> findings = new ArrayList<>();
        for (CudaDevice device : CudaDevice.all()) {
            String what = device.device().toString();
            try {
                findings.add(new Finding(what, true,
                        "%s, %s free of %s, compute capability %s, PCI %s, driver for CUDA %s".formatted(device.name(),
                                Text.bytes(device.freeMemory()), Text.bytes(device.totalMemory()),
                                device.computeCapability(), device.pciId(), CudaDevice.driverVersion())));
            } catch (IllegalStateException e) {
                findings.add(new Finding(what, false, String.valueOf(e.getMessage())));
            }
        }
        return findings;
    }

    /// {@return whether a version of Java is supported}
    ///
    /// @param version the version
    static Finding jdk(Runtime.Version version) {
        String name = version + " of " + System.getProperty("java.vendor");
        if (version.feature() < OLDEST.feature()) {
            return new Finding("JDK", false, name + "; too old, use 25.0.3 or newer");
        } else if (version.compareToIgnoreOptional(OLDEST) < 0) {
            return new Finding("JDK", false, name + "; can corrupt data (JDK-8377811), use 25.0.3 or newer");
        }
        return new Finding("JDK", true, version.feature() == OLDEST.feature() ? name : name + "; not tested, 25 is");
    }

    private static Finding nativeAccess() {
        boolean isEnabled = Machine.class.getModule().isNativeAccessEnabled();
        return new Finding("native access", isEnabled,
                isEnabled ? "enabled" : "denied; run Java with --enable-native-access=ALL-UNNAMED");
    }

    private static Finding mapping() {
        return Pages.size().isPresent()
                ? new Finding("mapping", true, "pages of " + Text.bytes(Pages.size().getAsLong()))
                : new Finding("mapping", false, "whole files only: the C library cannot be called, which needs "
                        + "Linux and --enable-native-access=ALL-UNNAMED");
    }

    private static Finding sharedMemory() {
        try {
            FileStore store = Files.getFileStore(SHARED_MEMORY);
            return new Finding("shared memory", Files.isWritable(SHARED_MEMORY), "%s: %s free of %s%s".formatted(
                    SHARED_MEMORY, Text.bytes(store.getUsableSpace()), Text.bytes(store.getTotalSpace()),
                    Files.isWritable(SHARED_MEMORY) ? "" : ", which this user cannot write to"));
        } catch (IOException e) {
            return new Finding("shared memory", false, "there is no " + SHARED_MEMORY + ": " + e.getMessage());
        }
    }

    private static Finding hugePages() {
        String anonymous = selected("enabled");
        return new Finding("huge pages", !anonymous.equals("never") && !anonymous.equals("unknown"),
                "in anonymous memory: %s, in shared memory: %s".formatted(anonymous, selected("shmem_enabled")));
    }

    /// Returns the system's choice, which its file has in brackets.
    private static String selected(String setting) {
        try {
            Matcher choice = SELECTED.matcher(Files.readString(HUGE_PAGES.resolve(setting)));
            return choice.find() ? choice.group(1) : "unknown";
        } catch (IOException _) {
            return "unknown";
        }
    }

    private static Finding directIo() {
        Path directory = Path.of(System.getProperty("java.io.tmpdir"));
        Optional<String> missing = DirectIo.unavailability(directory);
        return new Finding("O_DIRECT", missing.isEmpty(),
                "in " + directory + missing.map(": %s"::formatted).orElse(""));
    }

    /// Writes a table.
    ///
    /// @param out the destination
    public static void print(TextOutput out) {
        Table table = new Table(left("what"), left("available"), left("found"));
        Stream.of(findings(), cudaFindings()).flatMap(List::stream)
                .forEach(each -> table.row(each.what(), each.isAvailable() ? "yes" : "no", each.found()));
        table.print(out);
    }

    /// Writes one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param out the destination
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printJson(TextOutput out) throws IOException {
        Json.printLine(out, all -> all
                .list("findings", findings(), (json, finding) -> json.member("what", finding.what())
                        .member("available", finding.isAvailable()).member("found", finding.found()))
                .object("cuda", json -> json.member("available", CudaDevice.isAvailable())
                        .member("reason", CudaDevice.unavailability().orElse(null))
                        .member("driver", CudaDevice.isAvailable() ? CudaDevice.driverVersion() : null)
                        .list("devices", CudaDevice.all(), Machine::write)));
    }

    private static void write(Json json, CudaDevice device) throws IOException {
        json.member("device", device.device().toString());
        try {
            json.member("name", device.name()).member("compute_capability", device.computeCapability())
                    .member("pci_id", device.pciId()).member("memory_total", device.totalMemory())
                    .member("memory_free", device.freeMemory());
        } catch (IllegalStateException e) {
            json.member("problem", e.getMessage());
        }
    }
}
