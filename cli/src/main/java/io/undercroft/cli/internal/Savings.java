package io.undercroft.cli.internal;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.serializer.DedupReport;
import java.io.IOException;

/// The table of a [DedupReport]: which bytes of a state were written, and why the others were not.
public final class Savings {
    private final Table table = new Table(right("bytes"), right("of all"), left("written or not"));
    private final long all;

    private Savings(long all) {
        this.all = all;
    }

    /// Prints the table, without the rows of 0 bytes.
    ///
    /// @param report the report
    /// @param out the output
    public static void print(DedupReport report, TextOutput out) {
        Savings savings = new Savings(report.storages() + report.identity());
        savings.add(report.identity(), "not written: tensors share a storage");
        savings.add(report.unreached(), "not written: no tensor uses them");
        savings.add(report.zeros(), "not written: zeros");
        savings.add(report.sharedStorages(), "not written: equal storages are stored already");
        savings.add(report.sharedChunks(), "not written: equal chunks are stored already");
        savings.add(report.compressed(), "not written: others are coded in fewer bytes");
        savings.add(report.written() - report.compressed(), "written");
        savings.table.row(Text.bytes(report.index()), "", "written: the index");
        savings.table.print(out);
    }

    /// Writes a member with all numbers of a report, as `docs/inspect-json.md` describes it.
    ///
    /// @param json the object
    /// @param report the report
    /// @throws IOException if writing fails
    public static void write(Json json, DedupReport report) throws IOException {
        json.object("bytes", all -> all.member("identity", report.identity()).member("unreached", report.unreached())
                .member("zeros", report.zeros()).member("shared_storages", report.sharedStorages())
                .member("shared_chunks", report.sharedChunks()).member("written", report.written())
                .member("compressed", report.compressed()).member("index", report.index()));
    }

    private void add(long nbytes, String what) {
        if (nbytes > 0) {
            table.row(Text.bytes(nbytes), Text.percent(nbytes, all), what);
        }
    }
}
