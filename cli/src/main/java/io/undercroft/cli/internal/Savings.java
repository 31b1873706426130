package io.undercroft.cli.internal;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.serializer.DedupReport;

/// What became of the bytes of a state when it was saved, for people.
public final class Savings {
    private final Table table = new Table(right("bytes"), right("of all"), left("what became of them"));
    private final long all;

    private Savings(long all) {
        this.all = all;
    }

    /// Writes a table; of what did not happen there is no row.
    ///
    /// @param report what became of the bytes
    /// @param out where to
    public static void print(DedupReport report, Output out) {
        Savings savings = new Savings(report.storages() + report.identity());
        savings.add(report.identity(), "saved: tensors that share a storage");
        savings.add(report.unreached(), "saved: no tensor reaches them");
        savings.add(report.zeros(), "saved: zeros");
        savings.add(report.sharedStorages(), "saved: whole storages that were there already");
        savings.add(report.sharedChunks(), "saved: chunks that were there already");
        savings.add(report.written(), "written");
        savings.table.row(Text.bytes(report.index()), "", "written: the index, which says what all this is");
        savings.table.print(out);
    }

    private void add(long nbytes, String what) {
        if (nbytes > 0) {
            table.row(Text.bytes(nbytes), Text.percent(nbytes, all), what);
        }
    }
}
