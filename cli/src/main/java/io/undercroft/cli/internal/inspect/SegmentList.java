package io.undercroft.cli.internal.inspect;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedSegment.Holder;
import io.undercroft.mmap.SharedSegment;
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
    /// @param out the destination
    public static void print(List<SharedSegment> segments, Output out) {
        print(new Table(left("shared memory"), right("bytes"), left("its name is removed"), left("held by processes")),
                segments, out);
    }

    /// Writes a table of segments whose names were removed.
    ///
    /// @param segments the segments, as they were
    /// @param out the destination
    public static void printRemoved(List<SharedSegment> segments, Output out) {
        print(new Table(left("removed"), right("bytes"), left("its name was to be removed"), left("was held by")),
                segments, out);
    }

    private static void print(Table table, List<SharedSegment> segments, Output out) {
        for (SharedSegment segment : segments) {
            table.row(segment.name(), Text.bytes(segment.nbytes()), words(segment.lifetime()), holders(segment));
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
    /// @param out the destination
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printJson(List<SharedSegment> segments, Output out) throws IOException {
        Json.print(out, json -> writeSegments(segments, json));
    }

    /// Writes one JSON object about what was removed, as `docs/inspect-json.md` describes it.
    ///
    /// @param removed the segments whose names were removed
    /// @param unheld the names that are still published and without holders
    /// @param out the destination
    /// @throws IOException never, as `out` throws its own exceptions
    public static void printCollectedJson(List<SharedSegment> removed, List<String> unheld, Output out)
            throws IOException {
        Json.print(out, json -> writeSegments(removed, json).values("unheld", unheld));
    }

    private static Json writeSegments(List<SharedSegment> segments, Json all) throws IOException {
        return all.list("segments", segments, (json, segment) -> json.member("name", segment.name())
                .member("nbytes", segment.nbytes())
                .member("lifetime", segment.lifetime().name().toLowerCase(Locale.ROOT))
                .list("holders", segment.holders(), SegmentList::writeHolder));
    }

    private static void writeHolder(Json json, Holder holder) throws IOException {
        json.member("pid", holder.pid()).member("start", holder.start().toString())
                .member("state", holder.state().name().toLowerCase(Locale.ROOT));
    }
}
