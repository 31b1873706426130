package io.undercroft.cli.internal.inspect;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import com.fasterxml.jackson.core.JsonGenerator;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.mmap.SharedSegment.Holder;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/// Segments of shared memory, for people and for programs.
public final class SegmentList {
    private SegmentList() {}

    /// Writes a table.
    ///
    /// @param segments the segments in the order in which they are shown
    /// @param out where to
    public static void print(List<SharedSegment> segments, Output out) {
        Table table = new Table(left("shared memory"), right("bytes"), left("its name is removed"),
                left("held by processes"));
        for (SharedSegment segment : segments) {
            table.row(segment.name(), Text.bytes(segment.nbytes()), words(segment.lifetime()),
                    holders(segment));
        }
        table.print(out);
    }

    /// Writes a table of segments whose names were removed.
    ///
    /// @param segments the segments, as they were
    /// @param out where to
    public static void printRemoved(List<SharedSegment> segments, Output out) {
        Table table = new Table(left("removed"), right("bytes"), left("its name was to be removed"),
                left("was held by"));
        for (SharedSegment segment : segments) {
            table.row(segment.name(), Text.bytes(segment.nbytes()), words(segment.lifetime()),
                    holders(segment));
        }
        table.print(out);
    }

    private static String words(NameLifetime lifetime) {
        return switch (lifetime) {
            case UNTIL_UNLINKED -> "on request";
            case WITH_CREATOR -> "with its creator";
            case WITH_LAST_HOLDER -> "with its last holder";
        };
    }

    /// A process may hold a segment several times.
    private static String holders(SharedSegment segment) {
        return segment.holders().isEmpty()
                ? "none"
                : segment.holders().stream().map(SegmentList::words).distinct().collect(Collectors.joining(", "));
    }

    private static String words(Holder holder) {
        return switch (holder.state()) {
            case ALIVE -> Long.toString(holder.pid());
            case DEAD -> holder.pid() + " (dead)";
        };
    }

    /// Writes one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param segments the segments in the order in which they are shown
    /// @param out where to
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printJson(List<SharedSegment> segments, Output out) throws IOException {
        printJson(out, json -> writeSegments(segments, json));
    }

    /// Writes one JSON object about what was removed, as `docs/inspect-json.md` describes it.
    ///
    /// @param removed the segments whose names were removed
    /// @param unheld the names that are still published and without holders
    /// @param out where to
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printCollectedJson(List<SharedSegment> removed, List<String> unheld, Output out)
            throws IOException {
        printJson(out, json -> {
            writeSegments(removed, json);
            json.writeArrayFieldStart("unheld");
            for (String name : unheld) {
                json.writeString(name);
            }
            json.writeEndArray();
        });
    }

    @FunctionalInterface
    private interface Fields {
        void write(JsonGenerator json) throws IOException;
    }

    private static void printJson(Output out, Fields fields) throws IOException {
        JsonGenerator json = JsonReport.generator(out);
        json.writeStartObject();
        fields.write(json);
        json.writeEndObject();
        json.close();
        out.line("");
    }

    private static void writeSegments(List<SharedSegment> segments, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("segments");
        for (SharedSegment segment : segments) {
            json.writeStartObject();
            json.writeStringField("name", segment.name());
            json.writeNumberField("nbytes", segment.nbytes());
            json.writeStringField("lifetime", segment.lifetime().name().toLowerCase(Locale.ROOT));
            writeHolders(segment, json);
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void writeHolders(SharedSegment segment, JsonGenerator json) throws IOException {
        json.writeArrayFieldStart("holders");
        for (Holder holder : segment.holders()) {
            json.writeStartObject();
            json.writeNumberField("pid", holder.pid());
            json.writeStringField("start", holder.start().toString());
            json.writeStringField("state", holder.state().name().toLowerCase(Locale.ROOT));
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
