package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;

/// The formats that this process can read.
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
        List<CheckpointFormat> formats = others().toList();
        for (CheckpointFormat format : formats) {
            if (format.matches(file)) {
                return format;
            }
        }
        throw new FormatException("FORMAT-UNKNOWN", "this is no file of a known format (" + known(formats) + ")", 0,
                "Check that it is the file you meant and that it is complete");
    }

    private static Stream<CheckpointFormat> others() {
        return ServiceLoader.load(CheckpointFormat.class).stream().map(ServiceLoader.Provider::get);
    }

    private static String known(List<CheckpointFormat> others) {
        return Stream.concat(Stream.of(CROFT), others.stream())
                .map(CheckpointFormat::name)
                .reduce((a, b) -> a + ", " + b)
                .orElseThrow();
    }
}
