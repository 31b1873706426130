package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.BaseKind;
import io.undercroft.format.internal.BaseRecord;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.Scan;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.mmap.spi.RangeSource;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// The other files that a file references. Each is opened once, when its first byte is read, and stays open until all
/// are closed.
///
/// The file that names them is not trusted: the path, with links resolved, has to be that of a regular file below the
/// root; a `.croft` file has to have the id, an adopted file the size. The `.croft` bases of a file in a store are in
/// the same store, below the directory of the file, unless the options name others. If the bytes of such a file differ
/// nevertheless, the checksums of the file that names it do not match. Safe for any thread.
public final class Bases implements BaseFiles, AutoCloseable {
    private static final String SAY_WHERE = "Bring it there, or say where it is when opening: {} or {}";
    private static final String ROOT = "OpenOptions.root";
    private static final String BASE = "OpenOptions.base";

    /// Null if the file is in a store.
    private final @Nullable Path path;
    /// Null if the file is one of the host.
    private final @Nullable RangeSource source;
    private final String location;
    private final MapMode mode;
    private final OpenOptions options;
    private final Map<BaseRecord, MappedFile> open = new HashMap<>();
    private boolean closed;

    /// Creates the bases of a file, none of them open.
    ///
    /// @param file the file that names the others
    /// @param options the options, which name the directory of the bases
    public Bases(MappedFile file, OpenOptions options) {
        this(file.source().isPresent() ? null : file.path(), file.source().orElse(null), file.location(), options);
    }

    /// Creates the bases of a file, none of them open.
    ///
    /// @param path the path of the file that names the others
    /// @param options the options, which name the directory of the bases
    public Bases(Path path, OpenOptions options) {
        this(path, null, path.toString(), options);
    }

    private Bases(@Nullable Path path, @Nullable RangeSource source, String location, OpenOptions options) {
        this.path = path;
        this.source = source;
        this.location = location;
        this.options = options;
        this.mode = options.mapping() == MapMode.SHARED ? MapMode.READ_ONLY : options.mapping();
    }

    /// {@return the file that a record means, open until all are closed}
    ///
    /// @param base a record that was checked
    /// @throws FormatException by rule V18 if the file is not there, not below the root, or not the one that was meant
    /// @throws IllegalStateException if all are closed
    public synchronized MappedFile file(BaseRecord base) {
        if (closed) {
            throw new IllegalStateException(location + " is closed, and so are the files in which its bytes are; "
                    + "close it later, or open it again");
        }
        MappedFile existing = open.get(base);
        if (existing == null) {
            existing = find(base);
            open.put(base, existing);
        }
        return existing;
    }

    /// Finds a file for verifying. An adopted file is not opened unless the options name its directory.
    @Override
    public Optional<ByteSource> open(BaseRecord base) {
        return source(base, null);
    }

    /// {@return the same files, whose bytes are counted when they are read}
    ///
    /// @param progress counts them
    BaseFiles counted(Progress progress) {
        return base -> source(base, progress);
    }

    private Optional<ByteSource> source(BaseRecord base, @Nullable Progress progress) {
        return base.kind() == BaseKind.FOREIGN && options.root().isEmpty() && options.bases().isEmpty()
                ? Optional.empty()
                : Optional.of(new FileSource(file(base), () -> {}, progress));
    }

    /// {@return the status of a base}
    ///
    /// @param base a record that was checked
    public BaseFile describe(BaseRecord base) {
        boolean isCroft = base.kind() == BaseKind.CROFT;
        Optional<Path> found = Optional.empty();
        Optional<String> problem = Optional.empty();
        try {
            MappedFile opened = file(base);
            found = opened.source().isPresent() ? Optional.empty() : Optional.of(opened.path());
        } catch (FormatException e) {
            problem = Optional.of(e.what().replace(standsIn(base), ""));
        }
        return new BaseFile(isCroft ? BaseFile.Kind.CROFT : BaseFile.Kind.ADOPTED, base.path(),
                isCroft ? Optional.of(base.uuid()) : Optional.empty(),
                isCroft ? OptionalLong.empty() : OptionalLong.of(base.length()), found, problem);
    }

    /// Closes all. Storages that hold a part of a file remain usable.
    @Override
    public synchronized void close() {
        closed = true;
        for (MappedFile each : open.values()) {
            each.close();
        }
        open.clear();
    }

    private MappedFile find(BaseRecord base) {
        Optional<Path> given = base.kind() == BaseKind.CROFT
                ? Optional.ofNullable(options.basesById().get(base.uuid()))
                : Optional.empty();
        try {
            if (given.isPresent()) {
                return open(base, given.get());
            }
            MappedFile named = named(base);
            if (named != null) {
                return named;
            }
            if (source != null && options.root().isEmpty() && base.kind() == BaseKind.CROFT) {
                return checked(base, Stores.open(source.sibling(base.path()), options, new MapBudget()));
            }
            return openBelow(base, root(base).toRealPath());
        } catch (NoSuchFileException e) {
            throw unusable(base, notThere(e), sayWhere(base), e);
        } catch (RemoteFileException e) {
            throw e.kind() == RemoteFileException.Kind.NOT_FOUND
                    ? unusable(base, notThere(e), sayWhere(base), e)
                    : unusable(base, "it cannot be opened: " + e.getReason(), Remedy.of("Try again later"), e);
        } catch (IOException | InvalidPathException e) {
            String reason = e instanceof FileSystemException system && system.getReason() != null
                    ? ": " + system.getReason()
                    : "";
            throw unusable(base, "it cannot be opened" + reason, Remedy.of("Check that it may be read"), e);
        }
    }

    /// Names the files that are missing: that which was looked for, and those that the caller named.
    private String notThere(FileSystemException e) {
        return Stream.concat(Stream.of(String.valueOf(e.getFile())),
                options.bases().stream().filter(path -> !Files.exists(path)).map(Path::toString)).distinct()
                .map(FormatException::quote)
                .collect(Collectors.joining(" and no ", "it is not there, as there is no ", ""));
    }

    /// {@return the file among those that the caller names, or null} One that cannot be opened may be no base at all,
    /// or it is below the root.
    private @Nullable MappedFile named(BaseRecord base) {
        for (Path path : options.bases()) {
            try (MappedFile opened = open(base, path)) {
                if (base.kind() == BaseKind.CROFT || hasNameOf(base, path) || new Scan(opened.size())
                        .digest(new FileSource(opened), 0, opened.size()).equals(base.digest())) {
                    return opened.retain();
                }
            } catch (FormatException | IOException _) {
                // Another base, or no base.
            }
        }
        return null;
    }

    private static boolean hasNameOf(BaseRecord base, Path path) {
        String name = String.valueOf(path.getFileName());
        return base.path().equals(name) || base.path().endsWith("/" + name);
    }

    private MappedFile openBelow(BaseRecord base, Path root) throws IOException {
        Path path = ConfinedPath.resolve(root, base.path())
                .orElseThrow(() -> unusable(base, "links lead from it out of " + quote(root),
                        Remedy.naming("If that is meant, name the directory that they lead to with {}", ROOT), null));
        MappedFile opened = open(base, path);
        if (ConfinedPath.isStill(path)) {
            return opened;
        }
        opened.close();
        throw unusable(base, "it was exchanged while it was opened", Remedy.of("Open the file again"), null);
    }

    private Path root(BaseRecord base) throws IOException {
        if (options.root().isPresent()) {
            return options.root().get();
        }
        if (base.kind() == BaseKind.FOREIGN) {
            throw unusable(base, "a base of another format is opened only if its place is given",
                    Remedy.naming("Give the directory when opening: {}, or the file: {}", ROOT, BASE), null);
        }
        return Objects.requireNonNull(Objects.requireNonNull(path).toRealPath().getParent());
    }

    private MappedFile open(BaseRecord base, Path path) throws IOException {
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw unusable(base, quote(path) + " is not a regular file", Remedy.naming(SAY_WHERE, ROOT, BASE), null);
        }
        return checked(base, MappedFile.open(path, mode));
    }

    /// Closes a file that is not the one that a record means.
    private static MappedFile checked(BaseRecord base, MappedFile opened) throws IOException {
        try {
            base.check(new FileSource(opened));
            return opened;
        } catch (FormatException fault) {
            FormatException e = namingLookalike(fault, opened);
            throw new FormatException(e.code(),
                    e.what() + "; what was found is " + FormatException.quote(opened.location()), e.offset(),
                    e.remedy(),
                    e);
        } catch (Throwable e) {
            opened.close();
            throw e;
        }
    }

    private static FormatException namingLookalike(FormatException e, MappedFile opened) throws IOException {
        try (opened) {
            return Formats.namingLookalike(e, opened);
        }
    }

    private static Remedy sayWhere(BaseRecord base) {
        String argument = base.kind() == BaseKind.CROFT ? " with the id " + base.uuid() : "";
        return new Remedy(SAY_WHERE, List.of(new Remedy.Option(ROOT, ""), new Remedy.Option(BASE, argument)));
    }

    private static FormatException unusable(BaseRecord base, String what, Remedy remedy,
            @Nullable Exception cause) {
        String all = standsIn(base) + what;
        return cause == null
                ? new FormatException(Rule.V18_BASE.code(), all, FormatException.NO_OFFSET, remedy)
                : new FormatException(Rule.V18_BASE.code(), all, FormatException.NO_OFFSET, remedy, cause);
    }

    private static String standsIn(BaseRecord base) {
        return "bytes are in the file " + FormatException.quote(base.path()) + ": ";
    }

    private static String quote(Path path) {
        return FormatException.quote(path.toString());
    }
}
