package io.undercroft.cli;

import io.undercroft.cli.internal.AnnotatedDump;
import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FileDump;
import io.undercroft.format.dump.FormatDump.Line;
import io.undercroft.format.dump.FormatDump.Part;
import io.undercroft.format.dump.FormatDump;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.function.Predicate;

/// The command that shows the bytes of a file and what they mean.
final class HexdumpCommand extends Commands {
    private static final String SECTION = "--section";
    private static final String LIMIT = "--limit";
    private static final long BY_DEFAULT = 8;
    private static final long MOST = 1_000_000;
    /// The bytes of a line that are shown.
    private static final int ROW = 16;
    private static final HexFormat HEX = HexFormat.ofDelimiter(" ");

    HexdumpCommand(TextOutput out, CommandRunner run) {
        super(out, run);
        add("hexdump",
                "Shows the bytes of a .croft, .croftset or safetensors file with their meaning. For a .croft file they "
                        + "are the header, the commit records, the index of a snapshot, and the first bytes of each "
                        + "extent; format-spec/SPEC.md explains the fields. For a safetensors file they are the length "
                        + "of the header, its JSON, the first bytes of each tensor, and bytes that no tensor has. Of a "
                        + "field, the first 64 bytes are shown. A damaged file is shown as far as its parts can be "
                        + "found; then the command exits with 4. For files of other formats, croft inspect --html "
                        + "makes a map of the file.",
                () -> List.of(Arguments.file("FILE", "A .croft, .croftset or safetensors file."),
                        Arguments.texts(SECTION, "NAME", "Only this section. May be repeated. One of "
                                + String.join(", ", FileDump.sections()) + "; for a set one of manifest, shards, "
                                + "texts, slices; for a safetensors file one of length, header, tensors, gaps.",
                                FileDump.sections()),
                        Arguments.number(LIMIT, "Show at most N records of each section; 8 by default."),
                        Arguments.at(),
                        Arguments.json()),
                this::hexdump);
    }

    private int hexdump(Arguments arguments) {
        Path file = arguments.path(0);
        long limit = arguments.number(LIMIT, BY_DEFAULT);
        if (limit < 1 || limit > MOST) {
            return run.complain("%s: at least 1 and at most %,d records can be shown".formatted(LIMIT, MOST));
        }
        if (Inputs.isUri(file) || StandardInput.isMeant(file)) {
            return run
                    .complain(Inputs.shown(file) + ": only a file of this machine can be shown. Save it as one first");
        }
        return run.of(file, () -> {
            if (!Files.isRegularFile(file)) {
                throw refusal(file, arguments);
            }
            try (FileChannel channel = FileChannel.open(file); Arena arena = Arena.ofConfined()) {
                MemorySegment bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
                Dump dump = dump(file, bytes, limit, arguments);
                Optional<FormatException> fault = arguments.has(Arguments.JSON)
                        ? printJson(file, bytes, dump)
                        : print(dump);
                if (fault.isPresent()) {
                    out.flush();
                    throw fault.get();
                }
                return CommandRunner.OK;
            }
        });
    }

    /// Passes the parts of a file on, and returns what is wrong with it.
    private interface Dump {
        Optional<FormatException> to(Consumer<Part> parts);
    }

    private static Dump dump(Path file, MemorySegment bytes, long limit, Arguments arguments) throws IOException {
        if (FileDump.matches(bytes)) {
            Predicate<String> isShown = sections(arguments, FileDump.sections());
            OptionalLong at = arguments.has(Arguments.AT)
                    ? OptionalLong.of(arguments.number(Arguments.AT, 0))
                    : OptionalLong.empty();
            if (at.isPresent()) {
                // Before anything is printed.
                FileDump.requireSnapshot(bytes, at.getAsLong());
            }
            return parts -> FileDump.of(bytes, isShown, limit, at, parts);
        }
        FormatDump other = other(file, bytes, arguments);
        if (arguments.has(Arguments.AT)) {
            throw new IllegalArgumentException("%s: files of the format %s have no snapshots".formatted(Arguments.AT,
                    other.format()));
        }
        Predicate<String> isShown = sections(arguments, other.sections());
        return parts -> other.describe(bytes, isShown, limit, parts);
    }

    private static Predicate<String> sections(Arguments arguments, List<String> known) {
        List<String> sections = arguments.texts(SECTION).stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
        sections.stream().filter(name -> !known.contains(name)).findFirst().ifPresent(name -> {
            throw new IllegalArgumentException("%s: there is no section '%s', only %s".formatted(SECTION, name,
                    String.join(", ", known)));
        });
        return name -> sections.isEmpty() || sections.contains(name);
    }

    private static FormatDump other(Path file, MemorySegment bytes, Arguments arguments) throws IOException {
        for (FormatDump each : ServiceLoader.load(FormatDump.class)) {
            if (each.matches(bytes)) {
                return each;
            }
        }
        throw refusal(file, arguments);
    }

    /// Returns the exception for a file of another format.
    ///
    /// @throws FormatException if it is of no known format, or damaged
    /// @throws IOException if it is no file
    private static IllegalArgumentException refusal(Path file, Arguments arguments) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, arguments.openingOnMeta())) {
            return new IllegalArgumentException("hexdump shows .croft, .croftset and safetensors files, and the format "
                    + "of this file is %s. croft inspect --html OUT shows where its storages are".formatted(
                            checkpoint.format()));
        }
    }

    private Optional<FormatException> print(Dump dump) {
        AnnotatedDump printer = new AnnotatedDump(out);
        return dump.to(part -> printer.print(part, LIMIT));
    }

    // ---- JSON

    /// Writes each part when it is known, as there may be very many.
    private Optional<FormatException> printJson(Path file, MemorySegment bytes, Dump dump) throws IOException {
        List<FormatException> faults = new ArrayList<>();
        Json.print(out, json -> {
            json.member("file", file.toString()).member("nbytes", bytes.byteSize()).generator()
                    .writeArrayFieldStart("parts");
            dump.to(part -> writeObject(json, part)).ifPresent(faults::add);
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
                .member("offset", part.offset()).member("nbytes", part.nbytes())
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

    private static String bytes(Line line) {
        long length = line.bytes().byteSize();
        return HEX.formatHex(line.bytes().asSlice(0, Math.min(length, ROW)).toArray(ValueLayout.JAVA_BYTE))
                + (length > ROW ? " …" : "");
    }
}
