package io.undercroft.cli.internal.machine;

import static io.undercroft.cli.internal.Table.left;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Table;
import io.undercroft.cuda.CudaDevice;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/// Prints what the machine offers.
public final class MachineReport {
    private MachineReport() {}

    /// Writes a table.
    ///
    /// @param out the destination
    public static void print(Output out) {
        Table table = new Table(left("what"), left("available"), left("found"));
        Stream.of(Machine.findings(), Machine.cudaFindings()).flatMap(List::stream)
                .forEach(each -> table.row(each.what(), each.isAvailable() ? "yes" : "no", each.found()));
        table.print(out);
    }

    /// Writes one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param out the destination
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printJson(Output out) throws IOException {
        Json.printLine(out, all -> all
                .list("findings", Machine.findings(), (json, finding) -> json.member("what", finding.what())
                        .member("available", finding.isAvailable()).member("found", finding.found()))
                .object("cuda", json -> json.member("available", CudaDevice.isAvailable())
                        .member("reason", CudaDevice.unavailability().orElse(null))
                        .member("driver", CudaDevice.isAvailable() ? CudaDevice.driverVersion() : null)
                        .list("devices", CudaDevice.all(), MachineReport::write)));
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
