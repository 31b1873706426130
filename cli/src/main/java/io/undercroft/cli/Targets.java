package io.undercroft.cli;

import io.undercroft.cli.internal.TextOutput;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.analysis.OutputFile;
import io.undercroft.serializer.spi.CheckpointFormat;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// Checks of the names of files to write.
final class Targets {
    private static final String SUFFIX = ".croft";

    private Targets() {}

    static boolean isCroft(Path target) {
        return lowerCase(target).endsWith(SUFFIX);
    }

    /// {@return the format that a file will have, if there is such a format}
    ///
    /// @param target the file
    /// @param name the name of a format, or nothing for that which the name of the file ends in
    static Optional<CheckpointFormat> format(Path target, Optional<String> name) {
        Stream<CheckpointFormat> formats = Checkpoint.formats().stream();
        return name.isPresent()
                ? formats.filter(format -> format.name().equals(name.get())).findFirst()
                : formats.filter(format -> fitting(format, target) > 0)
                        .max(Comparator.comparingInt(format -> fitting(format, target)));
    }

    /// Returns how many characters of the end of a name a format claims.
    private static int fitting(CheckpointFormat format, Path target) {
        return format.suffixes().stream().filter(lowerCase(target)::endsWith).mapToInt(String::length).max().orElse(0);
    }

    private static String lowerCase(Path file) {
        return file.toString().toLowerCase(Locale.ROOT);
    }

    /// Saves a state to a file, or to a store if it is named by a URI.
    ///
    /// @throws IllegalArgumentException if the URI is invalid, or as [Checkpoint#save(Path, Object, SaveOptions)]
    static SaveReport save(Path target, @Nullable Object state, SaveOptions options) throws IOException {
        return Inputs.isUri(target)
                ? Checkpoint.save(Inputs.uri(target), state, options)
                : Checkpoint.save(target, state, options);
    }

    static int refuse(String label, Path target, CommandRunner run) {
        return run.complain(
                "%s: only .croft files can be written. Give %s a name that ends in %s".formatted(target, label,
                        SUFFIX));
    }

    static int refuseSame(Path source, String label, CommandRunner run) {
        return run.complain("%s: source and target are the same file. Give %s another name".formatted(source, label));
    }

    /// Writes text.
    interface Content<T> {
        T write(TextOutput out) throws IOException;
    }

    /// Writes a text file, which appears whole or not at all.
    ///
    /// @return what the content returns
    static <T> T write(Path target, Content<T> content) throws IOException {
        try (OutputFile file = OutputFile.create(target); TextOutput out = new TextOutput(file)) {
            T result = content.write(out);
            out.flush();
            file.commit();
            return result;
        } catch (TextOutput.Failure e) {
            throw interrupted(Objects.requireNonNull(e.getCause()));
        } catch (ClosedByInterruptException e) {
            throw interrupted(e);
        }
    }

    private static IOException interrupted(IOException why) {
        return why instanceof ClosedByInterruptException
                ? new IOException("interrupted; no file was made or changed", why)
                : why;
    }

    /// {@return whether a file is one of those that an open checkpoint consists of, or has bytes of it}
    static boolean isInput(Checkpoint checkpoint, Path target) throws IOException {
        Stream<Path> inputs = Stream.concat(checkpoint.fileSizes().sequencedKeySet().stream().map(Path::of),
                checkpoint.bases().stream().map(BaseFile::file).flatMap(Optional::stream));
        for (Path input : inputs.toList()) {
            if (isSame(input, target)) {
                return true;
            }
        }
        return false;
    }

    static boolean isSame(Path source, Path target) throws IOException {
        if (Inputs.isUri(target)) {
            return Inputs.shown(source).equals(Inputs.shown(target));
        }
        return Files.exists(target) && Files.exists(source) && Files.isSameFile(source, target);
    }
}
