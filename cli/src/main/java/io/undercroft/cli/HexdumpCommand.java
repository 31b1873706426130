package io.undercroft.cli;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Text;
import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FileDump;
import io.undercroft.format.dump.FileDump.Line;
import io.undercroft.format.dump.FileDump.Part;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;

/// The command that shows the bytes of a `.croft` file and what they mean.
final class HexdumpCommand {
    private static final String SECTION = "--section";
    private static final String LIMIT = "--limit";
    private static final long BY_DEFAULT = 8;
    private static final long MOST = 1_000_000;
    /// The bytes of a line that are shown.
    private static final int ROW = 16;
    private static final HexFormat HEX = HexFormat.ofDelimiter(" ");

    private final Output out;
    private final CommandRunner run;

    HexdumpCommand(Output out, CommandRunner run) {
        this.out = out;
        this.run = run;
    }

    Subcommand command() {
        return new Subcommand(
                "Shows the bytes of a .croft file with their meaning. They are the header, the commit records, the "
                        + "index of the newest snapshot, and the first bytes of each extent; format-spec/SPEC.md "
                        + "explains the fields. A damaged file is shown as far as its parts can be found; then the "
                        + "command exits with 4.",
                () -> List.of(Arguments.file("FILE", "A .croft file."),
                        Arguments.texts(SECTION, "NAME", "Only this section. May be repeated. One of "
                                + String.join(", ", FileDump.sections()) + "."),
                        Arguments.number(LIMIT, "Show at most N records of each section; 8 by default."),
                        Arguments.json()),
                this::hexdump);
    }

    private int hexdump(Arguments arguments) {
        Path file = arguments.path(0);
        List<String> sections = arguments.texts(SECTION).stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
        long limit = arguments.number(LIMIT, BY_DEFAULT);
        Optional<String> unknown = sections.stream().filter(name -> !FileDump.sections().contains(name)).findFirst();
        if (unknown.isPresent()) {
            return run.complain("%s: there is no section '%s', only %s".formatted(SECTION, unknown.get(),
                    String.join(", ", FileDump.sections())));
        }
        if (limit < 1 || limit > MOST) {
            return run.complain("%s: at least 1 and at most %,d records can be shown".formatted(LIMIT, MOST));
        }
        if (Inputs.isUri(file)) {
            return run.complain(Inputs.shown(file) + ": only a file of this machine can be shown. Download it first");
        }
        Predicate<String> isShown = name -> sections.isEmpty() || sections.contains(name);
        return run.of(file, () -> {
            try (FileChannel channel = FileChannel.open(file); Arena arena = Arena.ofConfined()) {
                MemorySegment bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
                Optional<FormatException> fault = arguments.has(Arguments.JSON)
                        ? printJson(file, bytes, parts -> FileDump.of(bytes, isShown, limit, parts))
                        : FileDump.of(bytes, isShown, limit, this::print);
                if (fault.isPresent()) {
                    out.flush();
                    throw fault.get();
                }
                return CommandRunner.OK;
            }
        });
    }

    // ---- text

    private void print(Part part) {
        out.line("%s (%s%s)".formatted(part.title(), Text.count(part.nbytes(), "byte"),
                part.offset() < 0 ? "" : " at 0x%X".formatted(part.offset())));
        part.lines().forEach(line -> out.line("  %010x  %-51s  %-30s  %s".formatted(line.offset(), bytes(line),
                line.name(), line.meaning()).stripTrailing()));
        FormatException fault = part.fault();
        if (fault != null) {
            out.line("  damaged: %s [%s]".formatted(fault.what(), fault.code()));
        }
        if (part.omitted() > 0) {
            out.line("  … and %,d more; %s shows them".formatted(part.omitted(), LIMIT));
        }
    }

    private static String bytes(Line line) {
        long length = line.bytes().byteSize();
        return HEX.formatHex(line.bytes().asSlice(0, Math.min(length, ROW)).toArray(ValueLayout.JAVA_BYTE))
                + (length > ROW ? " …" : "");
    }

    // ---- JSON

    private interface Dump {
        Optional<FormatException> of(Consumer<Part> parts);
    }

    /// Writes each part when it is known, as there may be very many.
    private Optional<FormatException> printJson(Path file, MemorySegment bytes, Dump dump) throws IOException {
        // Before anything is printed.
        FileDump.requireFormat(bytes);
        List<FormatException> faults = new ArrayList<>();
        Json.print(out, json -> {
            json.member("file", file.toString()).member("nbytes", bytes.byteSize()).generator()
                    .writeArrayFieldStart("parts");
            dump.of(part -> writeObject(json, part)).ifPresent(faults::add);
            json.generator().writeEndArray();
        });
        return faults.stream().findFirst();
    }

    private static void writeObject(Json json, Part part) {
        try {
            json.generator().writeStartObject();
            write(json, part);
            json.generator().writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void write(Json json, Part part) throws IOException {
        json.member("section", part.section()).member("title", part.title())
                .member("offset", part.offset() < 0 ? null : part.offset()).member("nbytes", part.nbytes())
                .list("lines", part.lines(),
                        (each, line) -> each.member("offset", line.offset())
                                .member("nbytes", line.bytes().byteSize()).member("bytes", bytes(line))
                                .member("name", line.name()).member("meaning", line.meaning()))
                .member("omitted", part.omitted());
        FormatException fault = part.fault();
        if (fault != null) {
            json.object("fault", why -> why.member("code", fault.code()).member("what", fault.what()));
        }
    }
}
