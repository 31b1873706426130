package io.undercroft.cli.internal.inspect;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;
import static io.undercroft.cli.internal.Table.whole;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// The snapshots of a file, for people and for programs.
public final class SnapshotList {
    private static final int SHOWN_MESSAGE = 60;
    private static final int SHOWN_DIGITS = 12;

    private SnapshotList() {}

    /// Writes a table.
    ///
    /// @param snapshots the snapshots in the order in which they are shown
    /// @param out the destination
    public static void print(List<SnapshotInfo> snapshots, TextOutput out) {
        Table table = new Table(right("snapshot"), whole("time"), left("message"), right("file was"),
                whole("root digest"));
        for (SnapshotInfo snapshot : snapshots) {
            table.row(number(snapshot), time(snapshot), message(snapshot),
                    Text.bytes(snapshot.committedLength()),
                    snapshot.rootDigest().toString().substring(0, SHOWN_DIGITS));
        }
        table.print(out);
    }

    /// {@return number, time and message of a snapshot, as far as they are known}
    static String line(SnapshotInfo snapshot) {
        return Stream.of(number(snapshot), time(snapshot), message(snapshot))
                .filter(part -> !part.isEmpty()).collect(Collectors.joining(", "));
    }

    private static String number(SnapshotInfo snapshot) {
        return snapshot.commit() == SnapshotInfo.UNKNOWN ? "?" : Long.toString(snapshot.commit());
    }

    private static String message(SnapshotInfo snapshot) {
        return Text.shortened(FormatException.printable(snapshot.message()), SHOWN_MESSAGE);
    }

    /// To the second, in UTC.
    private static String time(SnapshotInfo snapshot) {
        return snapshot.time().map(time -> time.truncatedTo(ChronoUnit.SECONDS).toString()).orElse("");
    }

    /// Writes the members of a JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param json the object
    /// @param snapshots the snapshots in the order in which they are shown
    /// @throws IOException if writing fails
    public static void write(Json json, List<SnapshotInfo> snapshots) throws IOException {
        json.list("snapshots", snapshots, (each, snapshot) -> each.member("number", snapshot.commit())
                .member("time", snapshot.time().map(Instant::toString).orElse(null))
                .member("message", snapshot.message())
                .member("file_nbytes", snapshot.committedLength())
                .member("root_digest", snapshot.rootDigest().toString()));
    }
}
