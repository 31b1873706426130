package io.undercroft.mmap.internal.support;

import java.nio.file.OpenOption;
import java.util.Optional;
import java.util.stream.Stream;

/// The option that opens a file past the page cache.
public final class DirectOption {
    /// The size of a page, and a multiple of the block size of the file systems that are written to this way.
    public static final long PAGE = 4096;

    private DirectOption() {}

    /// {@return the option, if this Java runtime provides it} It is in a module of the JDK that a program may omit, and
    /// cannot be named in code compiled with `--release`.
    public static Optional<OpenOption> find() {
        try {
            Object[] options = Class.forName("com.sun.nio.file.ExtendedOpenOption").getEnumConstants();
            return Stream.of(options).map(OpenOption.class::cast).filter(option -> option.toString().equals("DIRECT"))
                    .findFirst();
        } catch (ClassNotFoundException _) {
            return Optional.empty();
        }
    }
}
