package io.undercroft.cli.internal.inspect;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
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
    public static void print(List<SharedSegment> segments, TextOutput out) {
        if (segments.isEmpty()) {
            out.line("there is no shared memory");
            return;
        }
        print(new Table(left("shared memory"), right("bytes"), left("its name is removed"), left("held by processes")),
                segments, out);
    }

    /// Writes a table of segments whose names were removed.
    ///
    /// @param segments the segments, as they were
    /// @param out the destination
    public static void printRemoved(List<SharedSegment> segments, TextOutput out) {
        if (segments.isEmpty()) {
            out.line("there was nothing to remove");
            return;
        }
        print(new Table(left("removed"), right("bytes"), left("its name was to be removed"), left("was held by")),
                segments, out);
    }

    private static void print(Table table, List<SharedSegment> segments, TextOutput out) {
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

    /// Writes a member of a JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param json the object
    /// @param segments the segments in the order in which they are shown
    /// @return the object
    /// @throws IOException if writing fails
    public static Json write(Json json, List<SharedSegment> segments) throws IOException {
        return json.list("segments", segments, (each, segment) -> each.member("name", segment.name())
                .member("nbytes", segment.nbytes())
                .member("lifetime", segment.lifetime().name().toLowerCase(Locale.ROOT))
                .list("holders", segment.holders(), SegmentList::writeHolder));
    }

    private static void writeHolder(Json json, Holder holder) throws IOException {
        json.member("pid", holder.pid()).member("start", holder.start().toString())
                .member("state", holder.state().name().toLowerCase(Locale.ROOT));
    }
}
