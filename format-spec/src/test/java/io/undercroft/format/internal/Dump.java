package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.index.Records.CommitFields;
import io.undercroft.format.internal.index.Records.HeaderFields;
import io.undercroft.format.internal.index.Records.ManifestFields;
import io.undercroft.format.internal.index.Records.ShardFields;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import net.openhft.chronicle.bytes.HexDumpBytes;

/// Files byte by byte, but for the bytes of storages, with what each field means.
final class Dump {
    /// What is longer is shown by its beginning and its end.
    private static final int LONG = 2000;
    private static final int BEGINNING = 200;
    private static final int END = 40;

    private final MemorySegment file;
    private final UnaryOperator<List<String>> shown;
    private final List<String> text = new ArrayList<>();

    private Dump(byte[] file, UnaryOperator<List<String>> shown) {
        this.file = MemorySegment.ofArray(file);
        this.shown = shown;
    }

    /// {@return the dump of a file or of the manifest of a set, long stretches of zeros left out}
    static String of(byte[] file) throws IOException {
        return String.join("\n", new Dump(file, Dump::elided).lines()) + '\n';
    }

    /// {@return the lines of the dump of a file, none left out}
    static List<String> allLines(byte[] file) throws IOException {
        return new Dump(file, lines -> lines).lines();
    }

    private List<String> lines() throws IOException {
        if (SetManifest.isSignature(file)) {
            addSet();
        } else {
            addFile();
        }
        return text;
    }

    private void addSet() {
        long records = ManifestFields.SHARDS.get(file, 0);
        long texts = ManifestFields.RECORD.size() + records * ShardFields.RECORD.size();
        add("Set", 0, out -> {
            out.record(ManifestFields.RECORD, file, 0);
            for (long at = ManifestFields.RECORD.size(); at < texts; at += ShardFields.RECORD.size()) {
                out.record(ShardFields.RECORD, file, at);
            }
            for (long at = ManifestFields.RECORD.size(); at < texts; at += ShardFields.RECORD.size()) {
                out.run("text", file.asSlice(texts + ShardFields.PATH.get(file, at),
                        ShardFields.PATH_LENGTH.get(file, at)));
            }
            long slices = ManifestFields.INDEX_LENGTH.get(file, 0);
            out.run("slices", file.asSlice(file.byteSize() - Integer.BYTES - slices, slices));
            out.run("CRC32C of all before", file.asSlice(file.byteSize() - Integer.BYTES));
        });
    }

    private void addFile() throws IOException {
        Snapshot newest = Snapshot.open(ByteSource.of(file), Limits.DEFAULT);
        add("Header", 0, out -> out.record(HeaderFields.RECORD, file, 0));
        addRecord(newest.header().isSealed() ? "Commit record at the end" : "Commit record", newest.commit(),
                newest.place());
        List<CommitRecord> chain = newest.chain();
        if (chain.size() > 2) {
            addRecord("Commit record in the other slot", chain.get(1),
                    newest.header().recordOffset(chain.get(1).sequence()));
        }
        if (chain.size() > 1) {
            addRecord("Commit record of the first snapshot", chain.getLast(), FileLayout.FIRST_COMMIT);
        }
        for (CommitRecord commit : chain.reversed()) {
            if (commit.sequence() > 1) {
                addRecord("Parent record of snapshot " + commit.sequence(),
                        newest.openAt(commit.sequence() - 1).commit(), commit.previousRecord());
            }
            Snapshot snapshot = newest.openAt(commit.sequence());
            add(chain.size() == 1 ? "Index" : "Index of snapshot " + commit.sequence(), commit.indexOffset(),
                    out -> IndexDump.write(out, snapshot));
        }
    }

    /// What is behind the meaning of a record is reserved.
    private void addRecord(String title, CommitRecord commit, long offset) {
        int end = CommitFields.LENGTH.getInt(file, offset);
        add(title, offset, out -> {
            CommitFields.RECORD.fields().stream().filter(field -> field.end() <= end)
                    .forEach(field -> out.field(field.name(), field, file, offset));
            out.run("reserved", file.asSlice(offset + end, CommitFields.CRC.offset() - end));
            out.field(CommitFields.CRC.name(), CommitFields.CRC, file, offset);
        });
        assertThat(CommitRecord.decode(file.asSlice(offset, FileLayout.COMMIT_BYTES), offset)).isEqualTo(commit);
    }

    private void add(String title, long offset, Consumer<ChronicleWriter> writer) {
        HexDumpBytes out = new HexDumpBytes();
        out.offsetFormat((at, to) -> to.append(String.format("%05x ", offset + at)));
        out.numberWrap(16);
        writer.accept(new ChronicleWriter(out));
        if (!text.isEmpty()) {
            text.add("");
        }
        text.add(title);
        text.add("");
        text.addAll(shown.apply(out.toHexString().lines().map(String::stripTrailing).toList()));
    }

    private static List<String> elided(List<String> lines) {
        if (lines.size() <= LONG) {
            return withoutZeros(lines);
        }
        List<String> ends = new ArrayList<>(withoutZeros(lines.subList(0, BEGINNING)));
        ends.add("...");
        ends.addAll(withoutZeros(lines.subList(lines.size() - END, lines.size())));
        return ends;
    }

    /// Three dots stand for lines of zeros after the first of them.
    private static List<String> withoutZeros(List<String> lines) {
        List<String> text = new ArrayList<>();
        int zeros = 0;
        for (String line : lines) {
            zeros = line.matches("[0-9a-f]{5}( 00){16} # .*") ? zeros + 1 : 0;
            if (zeros < 2) {
                text.add(line);
            } else if (zeros == 2) {
                text.add("...");
            }
        }
        return text;
    }
}
