package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.ProgressBar;
import io.undercroft.cli.internal.StandardInput;
import io.undercroft.cli.internal.TensorJson;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.Inspection;
import io.undercroft.cli.internal.inspect.JsonReport;
import io.undercroft.cli.internal.inspect.StateOutline;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Extent;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.analysis.LastBorrowed;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/// The command that prints one tensor or another value of a file, or writes a tensor to a file of its own.
final class ExtractCommand extends Commands {
    private static final String ROWS = "--rows";
    private static final String SUFFIX = ".npy";
    private static final Pattern RANGE = Pattern.compile("(-?[0-9]{1,18})?:(-?[0-9]{1,18})?");

    ExtractCommand(TextOutput out, CommandRunner run) {
        super(out, run);
        add("extract",
                "Prints a tensor or another value of a file, or writes a tensor as a .npy file, and another "
                        + "value as text. If a tensor has more than 1000 elements, the first and last 3 of each "
                        + "dimension are printed. Bytes that are read are compared with their checksums. Lists and "
                        + "maps are printed as JSON.",
                () -> List.of(knownFile("FILE"), Arguments.tensor(),
                        Arguments.text(ROWS, "A:B", "Only the indices from A to B, without B, of the first "
                                + "dimension. Negative indices count from the end; A and B may be left out."),
                        Arguments.output("The file to write, instead of printing: a .npy file for a tensor."),
                        Arguments.dtype("Convert the elements, to float32 for instance. NumPy has no "
                                + "bfloat16 and no type of 8-bit floats."),
                        flag(Arguments.JSON, "Print one JSON object (docs/inspect-json.md): with all elements, or with "
                                + "-o about the file that was written."),
                        Arguments.at(), Arguments.large(),
                        Arguments.root(), Arguments.otherFile(), Arguments.format(), Arguments.setting()),
                this::extract);
    }

    /// What the user selected.
    ///
    /// @param name the name of the tensor
    /// @param rows the selected elements as they are stored
    /// @param firstRow the index of the first row, if some were selected
    /// @param dtype the type that the elements are converted to
    private record Extract(String name, Tensor rows, @Nullable Long firstRow, DType dtype) {
        Shape shape() {
            return rows.shapeAs(dtype);
        }
    }

    private int extract(Arguments arguments) {
        Path file = arguments.path(0);
        Path target = arguments.output().orElse(null);
        return run.of(file, () -> {
            try (Checkpoint checkpoint = Inputs.open(file, arguments.openingOnHost());
                    LastBorrowed borrowed = new LastBorrowed()) {
                run.noteSkippedCommit(checkpoint);
                if (target != null && Targets.isInput(checkpoint, target)) {
                    return Targets.refuseSame(file, Arguments.OUTPUT, run);
                }
                String name = arguments.word(1);
                if (!checkpoint.contains(name)) {
                    return target == null
                            ? print(checkpoint, name, arguments, out)
                            : run.writing(target, () -> write(checkpoint, name, arguments, target));
                }
                if (target != null && !target.toString().toLowerCase(Locale.ROOT).endsWith(SUFFIX)) {
                    return run.complain("%s: tensors are written as .npy files. Give OUT a name that ends in %s, or use"
                            .formatted(target, SUFFIX) + " croft convert --part for files of other formats");
                }
                Tensor tensor = readable(checkpoint.tensor(name));
                Optional<String> range = arguments.text(ROWS);
                Extract extract = new Extract(name,
                        range.isPresent() ? rows(checkpoint, name, tensor, range.get()) : tensor,
                        range.isPresent() ? firstRow(tensor, range.get()) : null, dtype(arguments, tensor));
                if (target != null) {
                    return run.writing(target, () -> write(extract, borrowed, checkpoint, target, arguments));
                }
                if (arguments.has(Arguments.JSON)) {
                    printJson(extract, borrowed);
                } else {
                    // Only the elements that are printed are converted.
                    borrowed.checked(extract.rows).toString(extract.dtype).lines().forEach(out::line);
                }
                return CommandRunner.OK;
            }
        });
    }

    /// Writes a value that is no tensor to a file as it is printed, but a text without escapes; with `--json` as JSON.
    private int write(Checkpoint checkpoint, String path, Arguments arguments, Path target) throws IOException {
        if (Targets.format(target, Optional.empty()).isPresent()) {
            throw new IllegalArgumentException("%s is no tensor, and is written as text; give OUT a name such as %s"
                    .formatted(FormatException.quote(path), "value.txt or value.json"));
        }
        Object value = checkpoint.value(path);
        int _ = Targets.write(target, text -> {
            if (value instanceof String words && !arguments.has(Arguments.JSON)) {
                text.write(words);
                return CommandRunner.OK;
            }
            return print(checkpoint, path, arguments, text);
        });
        long nbytes = Files.size(target);
        run.say(arguments, "%s: %s -> %s (%s)".formatted(checkpoint.location(), path, target, Text.bytes(nbytes)),
                json -> json.member("source", StandardInput.shown(checkpoint.location()))
                        .member("format", checkpoint.format()).member("name", path)
                        .member("target", target.toString()).member("nbytes", nbytes));
        return CommandRunner.OK;
    }

    /// Prints a value that is no tensor.
    private static int print(Checkpoint checkpoint, String path, Arguments arguments, TextOutput out)
            throws IOException {
        Object value = checkpoint.value(path);
        for (String option : new String[]{ROWS, Arguments.DTYPE}) {
            if (arguments.has(option)) {
                throw new IllegalArgumentException("%s is for tensors, and %s is none: %s".formatted(option,
                        FormatException.quote(path), StateOutline.of(value)));
            }
        }
        boolean isJson = arguments.has(Arguments.JSON);
        if (!isJson && value instanceof String text) {
            for (String line : text.split("\n", -1)) {
                out.line(line);
            }
        } else if (!isJson && !(value instanceof byte[]) && new StatePart(path, value).isScalar()) {
            out.line(value == null ? "none" : value.toString());
        } else {
            JsonReport.writeValue(new Inspection(checkpoint, null, List.of()), value,
                    isJson && !arguments.has(Arguments.OUTPUT) ? path : null, out);
        }
        return CommandRunner.OK;
    }

    private static Tensor readable(Tensor tensor) {
        if (tensor.device().isMeta()) {
            throw new IllegalArgumentException("the tensor is on the device meta, where it has no elements");
        }
        return tensor;
    }

    private static Tensor rows(Checkpoint checkpoint, String name, Tensor tensor, String range) {
        long first = firstRow(tensor, range);
        long end = end(tensor, range);
        if (first < 0 || end > tensor.size(0) || first > end) {
            throw new IllegalArgumentException(
                    "%s '%s': the tensor has the shape %s, so its rows are 0:%d".formatted(ROWS,
                            range, tensor.shape(), tensor.size(0)));
        }
        // What has to be decoded is decoded without the other rows, if the format can do that.
        List<Extent> extents = checkpoint.extents(tensor.storage());
        return extents.isEmpty() || extents.stream().anyMatch(Extent::isCompressed)
                ? checkpoint.rows(name, first, end)
                : tensor.narrow(0, first, end - first);
    }

    private static long firstRow(Tensor tensor, String range) {
        return place(parsed(tensor, range).group(1), 0, tensor.size(0));
    }

    private static long end(Tensor tensor, String range) {
        return place(parsed(tensor, range).group(2), tensor.size(0), tensor.size(0));
    }

    private static Matcher parsed(Tensor tensor, String range) {
        Matcher parsed = RANGE.matcher(range);
        if (!parsed.matches()) {
            throw new IllegalArgumentException("%s: '%s' is no range; write for instance 0:10, 5: or -3:"
                    .formatted(ROWS, range));
        }
        if (tensor.dim() == 0) {
            throw new IllegalArgumentException(ROWS + ": the tensor is one number, and has no rows");
        }
        return parsed;
    }

    private static long place(@Nullable String text, long byDefault, long rows) {
        long place = text == null ? byDefault : Long.parseLong(text);
        return place < 0 ? place + rows : place;
    }

    /// Returns the type that was requested, or that of the tensor; float32 if it has blocks of numbers.
    private static DType dtype(Arguments arguments, Tensor tensor) {
        DType dtype = arguments.dtype().orElse(tensor.dtype().blockSize() > 1 ? DType.FLOAT32 : tensor.dtype());
        try {
            Tensor _ = Tensor.zeros(tensor.dtype(), 1).to(dtype);
        } catch (UnsupportedOperationException e) {
            throw new IllegalArgumentException("%s: %s cannot be converted to %s".formatted(Arguments.DTYPE,
                    tensor.dtype(), dtype), e);
        }
        return dtype;
    }

    private int write(Extract extract, LastBorrowed borrowed, Checkpoint checkpoint, Path target, Arguments arguments)
            throws IOException {
        if (TensorBlocks.nbytes(extract.rows) > Saver.largest(checkpoint, arguments)) {
            throw new IllegalArgumentException(
                    ("the tensor has %s, which is out of proportion to what the file stores; "
                            + "select some of it with %s, or allow it with %s")
                            .formatted(Text.bytes(TensorBlocks.nbytes(extract.rows)), ROWS, Arguments.LARGE));
        }
        try (ProgressBar bar = ProgressBar.onTerminal()) {
            SaveOptions options = SaveOptions.defaults().format("npy").progress(bar).largest(Long.MAX_VALUE);
            // Converted while it is written, as a copy of all elements may need more memory than there is.
            Checkpoint.save(target, borrowed.checked(extract.rows), extract.dtype.equals(extract.rows.dtype())
                    ? options
                    : options.setting("npy.dtype", extract.dtype.name()));
        }
        long nbytes = Files.size(target);
        run.say(arguments, "%s: %s, %s %s -> %s (%s)".formatted(checkpoint.location(), extract.name, extract.dtype,
                extract.shape(), target, Text.bytes(nbytes)), json -> {
                    json.member("source", StandardInput.shown(checkpoint.location()))
                            .member("format", checkpoint.format());
                    describe(json, extract).member("target", target.toString()).member("nbytes", nbytes);
                });
        return CommandRunner.OK;
    }

    private void printJson(Extract extract, LastBorrowed borrowed) throws IOException {
        TensorJson.requireNumbers(extract.shape().numel(), extract.dtype);
        Tensor converted = borrowed.checked(extract.rows).to(extract.dtype);
        Json.printLine(out, json -> TensorJson.write(describe(json, extract), "values", converted));
    }

    private static Json describe(Json json, Extract extract) throws IOException {
        return json.member("name", extract.name).member("dtype", extract.dtype.name())
                .numbers("shape", extract.shape().toArray()).member("first_row", extract.firstRow);
    }
}
