package io.undercroft.cli.internal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FormatDump.Line;
import io.undercroft.format.dump.FormatDump.Part;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.HexDumpBytes;

/// Prints parts of files of all formats that are described: the bytes of each field in hexadecimal digits, and what
/// they are. Chronicle writes the rows. This is the only class of the command that uses Chronicle, so that its start
/// and its logger concern nobody else.
public final class AnnotatedDump {
    private static final int ROW = 16;
    /// The bytes of a field that are shown.
    private static final int SHOWN = 4 * ROW;
    /// The fields that Chronicle has in memory at a time.
    private static final int GROUP = 256;

    static {
        // While they start, Chronicle and its logger print what they miss in the JVM and on the class path.
        PrintStream err = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), false, UTF_8));
        try {
            new AnnotatedDump(new TextOutput(OutputStream.nullOutputStream())).print(new Part("", "", 0, 1,
                    List.of(new Line(0, MemorySegment.ofArray(new byte[1]), "", "")), 0, null), "");
        } finally {
            System.setErr(err);
        }
    }

    private final TextOutput out;
    private final HexDumpBytes dump = new HexDumpBytes(Bytes.allocateElasticOnHeap());
    /// The offset in the file of the byte that Chronicle counts as its first.
    private long origin;
    private int written;

    /// Prints to an output.
    ///
    /// @param out the output
    public AnnotatedDump(TextOutput out) {
        this.out = out;
        dump.numberWrap(ROW);
        dump.offsetFormat((at, text) -> text.append("  %010x  ".formatted(origin + at)));
    }

    /// Prints a part.
    ///
    /// @param part the part
    /// @param remedy what shows the records that were left out of the part
    public void print(Part part, String remedy) {
        out.line("%s (%s at 0x%X)".formatted(part.title(), Text.count(part.nbytes(), "byte"), part.offset()));
        int fields = 0;
        for (Line line : part.lines()) {
            add(line);
            fields++;
            if (fields % GROUP == 0) {
                flush();
            }
        }
        flush();
        FormatException fault = part.fault();
        if (fault != null) {
            out.line("  damaged: %s [%s]".formatted(fault.what(), fault.code()));
        }
        if (part.omitted() > 0) {
            out.line("  … and %,d more; %s shows them".formatted(part.omitted(), remedy));
        }
    }

    private void add(Line line) {
        long nbytes = line.bytes().byteSize();
        byte[] bytes = line.bytes().asSlice(0, Math.min(nbytes, SHOWN)).toArray(ValueLayout.JAVA_BYTE);
        origin = line.offset() - written;
        String meaning = line.meaning().isEmpty() ? line.name() : line.name() + ": " + line.meaning();
        dump.writeHexDumpDescription(bytesAsCharacters(FormatException.printable(meaning)));
        dump.write(bytes);
        // Ends the row, also one that continues a field and therefore has no description.
        dump.adjustHexDumpIndentation(0);
        written += bytes.length;
        if (nbytes > SHOWN) {
            flush();
            out.line("  … and %,d more bytes".formatted(nbytes - SHOWN));
        }
    }

    private void flush() {
        // Chronicle has encoded a description when it took it, and again when it wrote it.
        out.write(charactersOfBytes(charactersOfBytes(charactersOfBytes(dump.toHexString()))));
        dump.clear();
        written = 0;
    }

    /// Returns a character for each byte of a text in UTF-8. Chronicle would encode each surrogate alone.
    private static String bytesAsCharacters(String text) {
        return new String(text.getBytes(UTF_8), ISO_8859_1);
    }

    private static String charactersOfBytes(String bytes) {
        return new String(bytes.getBytes(ISO_8859_1), UTF_8);
    }
}
