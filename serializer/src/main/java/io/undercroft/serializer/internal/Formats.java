package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.storage.internal.support.NearNames;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The registered formats.
public final class Formats {
    /// Shorter suffixes are a typing error away from words that others use.
    private static final int SHORTEST_COMPARED = ".ckpt".length();
    private static final CheckpointFormat CROFT = new CroftFormat();
    private static final String ADD_OTHERS = "no other format is on the class path; undercroft-interop has most of "
            + "them";

    private Formats() {}

    /// Finds the format of a file: `.croft` first, then those of [Providers] in their order.
    ///
    /// @param file the file
    /// @return its format
    /// @throws FormatException if no format recognises the file
    /// @throws IOException if reading fails
    public static CheckpointFormat of(MappedFile file) throws IOException {
        if (file.size() == 0) {
            throw new FormatException("FORMAT-EMPTY", "the file is empty", FormatException.NO_OFFSET,
                    "Check that it was written and copied completely");
        }
        Optional<CheckpointFormat> format = find(file);
        if (format.isPresent()) {
            return format.get();
        }
        throw unknown(file, all());
    }

    private static FormatException unknown(MappedFile file, List<CheckpointFormat> formats) throws IOException {
        for (CheckpointFormat format : formats) {
            Optional<FormatException> refusal = guarded(format, "refusal", Optional.empty(),
                    () -> format.refusal(file));
            if (refusal.isPresent()) {
                return refusal.get();
            }
        }
        Optional<FormatException> lookalike = Lookalike.of(file);
        return lookalike.isPresent()
                ? lookalike.get()
                : new FormatException("FORMAT-UNKNOWN", "this is no file of a known format (" + names(formats) + ")", 0,
                        Remedy.naming("Check that it is the file you meant and that it is complete, or name its format "
                                + "with {}" + (formats.size() == 1 ? "; " + ADD_OTHERS : ""), "OpenOptions.format"));
    }

    private static Optional<CheckpointFormat> find(MappedFile file) throws IOException {
        if (CROFT.matches(file)) {
            return Optional.of(CROFT);
        }
        return Optional.ofNullable(Providers.first(CROFT.name(), format -> matches(format, file)));
    }

    private static boolean matches(CheckpointFormat format, MappedFile file) throws IOException {
        try {
            return guarded(format, "matches", false, () -> format.matches(file));
        } catch (FormatException _) {
            return false;
        }
    }

    private interface Query<T> {
        T run() throws IOException;
    }

    /// Queries a format. One that has a fault is skipped, with a warning: programs may have formats on the class path
    /// that they do not use.
    private static <T> T guarded(CheckpointFormat format, String method, T otherwise, Query<T> query)
            throws IOException {
        try {
            return query.run();
        } catch (FormatException | MappingException e) {
            throw e;
        } catch (RuntimeException | LinkageError e) {
            Providers.warn(format.getClass().getName() + '.' + method,
                    "the file format " + format.name() + " failed to recognise a file, and is skipped: " + e,
                    e);
            return otherwise;
        }
    }

    /// Finds a format by its name, or the format of a file if none is named.
    ///
    /// @param file the file
    /// @param name the name of a format, or null
    /// @return the format
    /// @throws FormatException if no format recognises the file
    /// @throws IllegalArgumentException if there is no format of that name
    /// @throws IOException if reading fails
    public static CheckpointFormat of(MappedFile file, @Nullable String name) throws IOException {
        return name == null ? of(file) : named(name);
    }

    /// {@return the names that an index has of the files of its set; none if the file is no index, or cannot be read}
    ///
    /// @param index the file, there or not
    public static Set<String> companionNames(Path index) {
        try (MappedFile file = MappedFile.open(index, MapMode.READ_ONLY)) {
            CheckpointFormat format = of(file);
            return guarded(format, "companionNames", Set.of(), () -> format.companionNames(file));
        } catch (IOException | FormatException | MappingException _) {
            return Set.of();
        }
    }

    /// Opens a file.
    ///
    /// @param format its format, or that which the options name
    /// @param file the file
    /// @param options the options
    /// @return its contents
    /// @throws FormatException if the format cannot open it; its message names the likely format if the options named
    ///     another format
    /// @throws IllegalStateException if the format has a fault
    /// @throws IOException if reading fails
    public static Contents open(CheckpointFormat format, MappedFile file, OpenOptions options) throws IOException {
        try {
            return made(format.open(file, options), format, "open");
        } catch (FormatException e) {
            throw options.format().isPresent() && file.size() > 0 ? withLooks(e, format, file) : e;
        }
    }

    private static FormatException withLooks(FormatException e, CheckpointFormat format, MappedFile file)
            throws IOException {
        Optional<String> looks = find(file).map(CheckpointFormat::name).filter(name -> !name.equals(format.name()));
        return looks.map(name -> new FormatException(e.code(),
                e.what() + "; the file was opened as " + format.name() + ", and looks like " + name, e.offset(),
                e.remedy(),
                e)).orElse(e);
    }

    /// Returns the exception for a shard of a model, which no format recognises if it is the pointer of Git LFS or
    /// another kind of file that is often found in place of one.
    ///
    /// @param e the exception of the reader of the shard
    /// @param file the shard
    /// @return an exception of the same code that names the kind of file, or the given one
    /// @throws IOException if reading fails
    public static FormatException namingLookalike(FormatException e, MappedFile file) throws IOException {
        if (file.size() == 0 || find(file).isPresent()) {
            return e;
        }
        return Lookalike.of(file).map(found -> new FormatException(e.code(), found.what(), found.offset(),
                found.remedy(), e)).orElse(e);
    }

    /// Plans a file.
    ///
    /// @param format its format, one [for writing][#forWriting]
    /// @param state the tree
    /// @param options the other options of the save
    /// @param fileName the name of the file
    /// @return the file to be
    /// @throws IllegalArgumentException if the format cannot hold the state
    /// @throws IllegalStateException if the format has a fault
    public static Draft draft(CheckpointFormat format, @Nullable Object state, SaveOptions options,
            String fileName) {
        try {
            return made(format.draft(state, options, fileName), format, "draft");
        } catch (IllegalArgumentException e) {
            // The path in it may consist of keys from a file.
            String message = FormatException.printable(String.valueOf(e.getMessage()));
            throw message.equals(e.getMessage()) ? e : new IllegalArgumentException(message, e);
        }
    }

    /// A provider may return null in spite of the contract.
    private static <T> T made(@Nullable T made, CheckpointFormat format, String method) {
        if (made == null) {
            throw new IllegalStateException("the format " + format.name() + " has a fault: its method " + method
                    + " (" + format.getClass().getName() + ") returned null");
        }
        return made;
    }

    /// Finds the format of a file to write: the named one, or that of the suffix, or else `.croft`.
    ///
    /// @param path the file
    /// @param name the name of a format, or null for that which the name of the file ends in
    /// @return the format
    /// @throws IllegalArgumentException if there is no format of that name, or it cannot be written, or the suffix is
    ///     that of a format which is not on the class path
    public static CheckpointFormat forWriting(Path path, @Nullable String name) {
        return forWriting(path.toString(), fileName(path), name);
    }

    /// Finds the format of a file to write, as [#forWriting(Path, String)].
    ///
    /// @param file the file, for messages
    /// @param fileName the last part of its name
    /// @param name the name of a format, or null for that which the name of the file ends in
    /// @return the format
    /// @throws IllegalArgumentException as [#forWriting(Path, String)]
    public static CheckpointFormat forWriting(String file, String fileName, @Nullable String name) {
        CheckpointFormat format = name == null ? bySuffix(file, fileName.toLowerCase(Locale.ROOT)) : named(name);
        if (!canBeWritten(format)) {
            throw new IllegalArgumentException(file + ": files of the format " + format.name()
                    + " can be opened, not written; " + writable(all()));
        }
        return format;
    }

    /// {@return the file to write: for a directory, the one in it that the named format
    /// [has][CheckpointFormat#indexName]}
    ///
    /// @param path the path that was given
    /// @param name the name of a format, or null
    public static Path fileToWrite(Path path, @Nullable String name) {
        return name != null && Files.isDirectory(path)
                ? named(name).indexName().map(path::resolve).orElse(path)
                : path;
    }

    private static CheckpointFormat bySuffix(String file, String name) {
        return bySuffix(name, all()).or(() -> bySuffix(name, withCroft(Providers.formatsFoundAnew(CROFT.name()))))
                .orElseGet(() -> {
                    requireKnown(file, name);
                    return CROFT;
                });
    }

    /// A known suffix of another format never makes a `.croft` file, and neither does one with a typing error, or one
    /// with another suffix after it.
    private static void requireKnown(String file, String name) {
        KnownSuffixes.format(suffix -> endsIn(name, suffix)).ifPresent(format -> {
            throw new IllegalArgumentException(file + ": its name is that of a file of " + format
                    + ". To write files of " + format + " put undercroft-interop on the class path; to save a "
                    + ".croft file choose another name, or SaveOptions.format(\"croft\")");
        });
        int end = Math.max(0, name.lastIndexOf('.'));
        String suffix = name.substring(end);
        KnownSuffixes.format(known -> endsIn(name.substring(0, end), known)).ifPresent(format -> {
            throw new IllegalArgumentException(file + ": before " + FormatException.quote(suffix)
                    + " its name is that of a file of " + format + ". Say what to write: SaveOptions.format(\"" + format
                    + "\") or SaveOptions.format(\"croft\")");
        });
        if (isCompared(suffix)) {
            NearNames.question(suffix, KnownSuffixes.all()).ifPresent(question -> {
                throw new IllegalArgumentException(file + ": no format has the suffix "
                        + FormatException.quote(suffix) + question + " To save a .croft file of this name, use "
                        + "SaveOptions.format(\"croft\")");
            });
        }
    }

    /// A short suffix is compared only if it is a known one with one more character.
    private static boolean isCompared(String suffix) {
        return suffix.startsWith(".") && (suffix.length() >= SHORTEST_COMPARED || KnownSuffixes.all().stream()
                .anyMatch(known -> suffix.startsWith(known) && suffix.length() == known.length() + 1));
    }

    /// {@return whether a format is `.croft`}
    public static boolean isCroft(CheckpointFormat format) {
        return format == CROFT;
    }

    /// Refuses to save a `.croft` file with the options of another format, whatever its suffix is.
    ///
    /// @param file the file
    /// @param options the options of the save
    /// @param what the operation that the other format does not support
    /// @throws IllegalArgumentException if the options choose another format, or have a setting of one
    public static void requireCroftOptions(String file, SaveOptions options, String what) {
        options.format().ifPresent(name -> requireCroft(file, named(name), what));
        Settings.check(file, CROFT, options, Set.of());
    }

    /// Refuses to save a `.croft` file where the name or the options choose another format.
    ///
    /// @param path the file
    /// @param options the options of the save
    /// @param what the operation that the other format does not support
    /// @throws IllegalArgumentException if the suffix or the options choose another format, or the options have a
    ///     setting of one
    public static void requireCroft(Path path, SaveOptions options, String what) {
        requireCroft(path.toString(), forWriting(path, options.format().orElse(null)), what);
        requireCroftOptions(path.toString(), options, what);
    }

    private static void requireCroft(String file, CheckpointFormat format, String what) {
        if (!isCroft(format)) {
            throw new IllegalArgumentException(file + ": a file of " + format.name() + " cannot be " + what
                    + ", only a .croft file can. Use Checkpoint.save, or another name, or "
                    + "SaveOptions.format(\"croft\")");
        }
    }

    /// {@return all formats, `.croft` first}
    public static List<CheckpointFormat> all() {
        return withCroft(Providers.formats(CROFT.name()));
    }

    private static List<CheckpointFormat> withCroft(List<CheckpointFormat> others) {
        return Stream.concat(Stream.of(CROFT), others.stream()).toList();
    }

    private static CheckpointFormat named(String name) {
        return named(name, all()).or(() -> named(name, Providers.formatsFoundAnew(CROFT.name()))).orElseThrow(() -> {
            List<CheckpointFormat> formats = all();
            return new IllegalArgumentException("there is no format " + FormatException.quote(name) + " among "
                    + names(formats) + instead(name, formats));
        });
    }

    private static Optional<CheckpointFormat> named(String name, List<CheckpointFormat> formats) {
        return formats.stream().filter(format -> format.name().equals(name)).findFirst();
    }

    private static String instead(String name, List<CheckpointFormat> formats) {
        return NearNames.question(name, formats.stream().map(CheckpointFormat::name).toList())
                .orElseGet(() -> formats.size() == 1 ? "; " + ADD_OTHERS : "");
    }

    /// Returns the format with the longest suffix that fits, since the index of several files ends as any JSON file.
    static Optional<CheckpointFormat> bySuffix(Path path, List<CheckpointFormat> formats) {
        return bySuffix(fileName(path), formats);
    }

    private static Optional<CheckpointFormat> bySuffix(String name, List<CheckpointFormat> formats) {
        return formats.stream().filter(format -> suffixLength(format, name) > 0)
                .max(Comparator.comparingInt(format -> suffixLength(format, name)));
    }

    private static int suffixLength(CheckpointFormat format, String fileName) {
        return format.suffixes().stream()
                .filter(suffix -> endsIn(fileName, suffix)).mapToInt(String::length).max().orElse(0);
    }

    private static boolean endsIn(String fileName, String suffix) {
        return suffix.startsWith(".") ? fileName.endsWith(suffix) : fileName.equals(suffix);
    }

    private static String fileName(Path path) {
        return String.valueOf(path.getFileName()).toLowerCase(Locale.ROOT);
    }

    private static boolean canBeWritten(CheckpointFormat format) {
        return format.capabilities().contains(Capability.SAVE);
    }

    private static String writable(List<CheckpointFormat> formats) {
        List<CheckpointFormat> others = formats.stream().skip(1).filter(Formats::canBeWritten).toList();
        return others.isEmpty()
                ? ADD_OTHERS
                : "choose one that can (croft, " + names(others)
                        + "), or by the suffix of the file";
    }

    private static String names(List<CheckpointFormat> formats) {
        return formats.stream().map(CheckpointFormat::name).collect(Collectors.joining(", "));
    }
}
