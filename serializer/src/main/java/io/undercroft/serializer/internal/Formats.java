package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The formats that this process knows.
public final class Formats {
    private static final CheckpointFormat CROFT = new CroftFormat();

    private Formats() {}

    /// Finds the format of a file: ours first, then those found by `ServiceLoader`.
    ///
    /// @param file the file
    /// @return its format
    /// @throws FormatException if no format knows the file
    /// @throws IOException if reading fails
    public static CheckpointFormat of(MappedFile file) throws IOException {
        if (file.size() == 0) {
            throw new FormatException("FORMAT-EMPTY", "the file is empty", FormatException.NO_OFFSET,
                    "Check that it was written and copied completely");
        }
        if (CROFT.matches(file)) {
            return CROFT;
        }
        List<CheckpointFormat> formats = all();
        for (CheckpointFormat format : formats.subList(1, formats.size())) {
            if (format.matches(file)) {
                return format;
            }
        }
        throw new FormatException("FORMAT-UNKNOWN", "this is no file of a known format (" + names(formats) + ")", 0,
                "Check that it is the file you meant and that it is complete");
    }

    /// Finds a format by its name, or the format of a file if none is named.
    ///
    /// @param file the file
    /// @param name the name of a format, or null
    /// @return the format
    /// @throws FormatException if no format knows the file
    /// @throws IllegalArgumentException if there is no format of that name
    /// @throws IOException if reading fails
    public static CheckpointFormat of(MappedFile file, @Nullable String name) throws IOException {
        return name == null ? of(file) : named(name);
    }

    /// Finds the format that a file is to be written in.
    ///
    /// @param path the file
    /// @param name the name of a format, or null for that which the name of the file ends in
    /// @return the format
    /// @throws IllegalArgumentException if there is none, or it cannot be written
    public static CheckpointFormat forWriting(Path path, @Nullable String name) {
        CheckpointFormat format = name == null ? bySuffix(path) : named(name);
        if (format == CROFT) {
            throw new IllegalArgumentException(path + ": a .croft file is made by Checkpoint.save, which shares bytes");
        }
        if (!format.capabilities().contains(Capability.SAVE)) {
            throw new IllegalArgumentException(
                    path + ": files of the format " + format.name() + " can be opened, not written; " + writable());
        }
        return format;
    }

    /// {@return all formats, ours first}
    public static List<CheckpointFormat> all() {
        return Stream.concat(Stream.of(CROFT), others()).toList();
    }

    private static CheckpointFormat named(String name) {
        List<CheckpointFormat> formats = all();
        return formats.stream().filter(format -> format.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "there is no format " + FormatException.quote(name) + " among " + names(formats)));
    }

    private static CheckpointFormat bySuffix(Path path) {
        String file = path.toString().toLowerCase(Locale.ROOT);
        return all().stream().filter(format -> format.suffixes().stream().anyMatch(file::endsWith)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        path + ": no format is known by the end of its name; " + writable()));
    }

    private static String writable() {
        return "name one with ExportOptions.format ("
                + names(others().filter(format -> format.capabilities().contains(Capability.SAVE)).toList())
                + "), or end the name as files of a format do, .croft for instance";
    }

    private static String names(List<CheckpointFormat> formats) {
        return formats.stream().map(CheckpointFormat::name).collect(Collectors.joining(", "));
    }

    private static Stream<CheckpointFormat> others() {
        return ServiceLoader.load(CheckpointFormat.class).stream().map(ServiceLoader.Provider::get);
    }
}
