package io.undercroft.cli.internal.machine;

import static io.undercroft.cli.internal.Table.left;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.machine.Machine.Finding;
import io.undercroft.cuda.CudaDevice;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;

/// Prints what the machine offers.
public final class MachineReport {
    private MachineReport() {}

    /// Writes a table.
    ///
    /// @param out where to
    public static void print(Output out) {
        Table table = new Table(left("what"), left("available"), left("found"));
        Stream.of(Machine.findings(), Machine.cudaFindings()).flatMap(List::stream)
                .forEach(each -> table.row(each.what(), each.isAvailable() ? "yes" : "no", each.found()));
        table.print(out);
    }

    /// Writes one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param out where to
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printJson(Output out) throws IOException {
        JsonGenerator json = new JsonFactory().createGenerator(out)
                .disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
        json.writeStartObject();
        json.writeArrayFieldStart("findings");
        for (Finding finding : Machine.findings()) {
            json.writeStartObject();
            json.writeStringField("what", finding.what());
            json.writeBooleanField("available", finding.isAvailable());
            json.writeStringField("found", finding.found());
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeObjectFieldStart("cuda");
        json.writeBooleanField("available", CudaDevice.isAvailable());
        json.writeStringField("reason", CudaDevice.unavailability().orElse(null));
        json.writeStringField("driver", CudaDevice.isAvailable() ? CudaDevice.driverVersion() : null);
        json.writeArrayFieldStart("devices");
        for (CudaDevice device : CudaDevice.all()) {
            write(device, json);
        }
        json.writeEndArray();
        json.writeEndObject();
        json.writeEndObject();
        json.close();
        out.line("");
    }

    private static void write(CudaDevice device, JsonGenerator json) throws IOException {
        json.writeStartObject();
        json.writeStringField("device", device.device().toString());
        try {
            json.writeStringField("name", device.name());
            json.writeStringField("compute_capability", device.computeCapability());
            json.writeStringField("pci_id", device.pciId());
            json.writeNumberField("memory_total", device.totalMemory());
            json.writeNumberField("memory_free", device.freeMemory());
        } catch (IllegalStateException e) {
            json.writeStringField("problem", e.getMessage());
        }
        json.writeEndObject();
    }
}
