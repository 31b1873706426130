package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.RemoteFileException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.ConfinedPath;
import io.undercroft.serializer.internal.Stores;
import io.undercroft.serializer.internal.Workers;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.SequencedSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/// The files of an open set, its *members*. Each is open while it is used, and stays open if it is to be kept, or until
/// many others were used after it. Safe for any thread.
///
/// The index names its members, and nothing else is opened. They are in the directory of the index or below it, or next
/// to it in its store. If the index is reached by a link, they are next to the link or next to the file. A symbolic
/// link to a file elsewhere is followed below [OpenOptions#root(Path)]; so it is in the cache of the Hugging Face hub,
/// where index and members are links from one directory to another, which needs no root.
///
/// @param <C> the contents of a member
public final class OpenSet<C extends Contents> implements AutoCloseable {
    /// The number of unused members that stay open: the open files of a process are limited.
    private static final int MOST_IDLE = 256;
    /// The number of members that are opened or read at once in a store, where most of the time is spent waiting.
    private static final int AT_ONCE = 32;

    private final MappedFile index;
    private final OpenOptions options;
    private final Opening<C> opening;
    private final Refusal refusal;
    private final MapBudget budget = new MapBudget();
    /// The directories of the index, by its given path and without symbolic links; none in a store.
    private final List<Path> directories;
    private final List<Member> members = new ArrayList<>();
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger kept = new AtomicInteger();
    /// The unused members that are open, least recently used first.
    private final SequencedSet<Member> idle = new LinkedHashSet<>();

    /// Opens a member.
    ///
    /// @param <C> the contents of a member
    @FunctionalInterface
    public interface Opening<C> {
        /// Opens the contents of a member.
        ///
        /// @param number the number of the member
        /// @param file the file, which outlives the contents
        /// @throws FormatException if it is malformed, or not the file that the index means
        /// @throws IOException if reading fails
        C open(int number, MappedFile file) throws IOException;
    }

    /// The exception for a member that cannot be opened.
    @FunctionalInterface
    public interface Refusal {
        /// {@return the exception}
        ///
        /// @param what what is wrong
        /// @param remedy what to do about it
        FormatException of(String what, Remedy remedy);
    }

    /// An action on an open member.
    ///
    /// @param <C> the contents of the member
    /// @param <T> the type of the result
    @FunctionalInterface
    public interface Use<C, T> {
        /// Uses the member.
        ///
        /// @param file the file
        /// @param contents its contents
        /// @throws IOException if reading fails
        T on(MappedFile file, C contents) throws IOException;
    }

    /// A set of which no member is open.
    ///
    /// @param index the index, which gets one more holder
    /// @param names the names of the members, relative to the directory of the index, with `/` between their parts; an
    ///     empty name is the index itself
    /// @param options how the files are mapped
    /// @param opening how members are opened
    /// @param refusal the exceptions for files that are missing
    /// @throws IOException if the directory of the index cannot be found
    public OpenSet(MappedFile index, List<String> names, OpenOptions options, Opening<C> opening, Refusal refusal)
            throws IOException {
        this.options = options;
        this.opening = opening;
        this.refusal = refusal;
        this.directories = index.source().isPresent()
                ? List.of()
                : List.copyOf(new LinkedHashSet<>(List.of(parent(index.path().toAbsolutePath()).toRealPath(),
                        parent(index.path().toRealPath()))));
        names.forEach(name -> members.add(new Member(members.size(), name)));
        this.index = index.retain();
    }

    private static Path parent(Path file) {
        return Objects.requireNonNull(file.getParent());
    }

    /// {@return the index}
    public MappedFile index() {
        return index;
    }

    /// {@return the number of members}
    public int size() {
        return members.size();
    }

    /// {@return the name of a member}
    ///
    /// @param number its number
    public String name(int number) {
        return members.get(number).name;
    }

    /// {@return whether it is in a store}
    public boolean isStore() {
        return directories.isEmpty();
    }

    /// {@return whether a number of members stay open if only these are used}
    ///
    /// @param count how many
    static boolean allStayOpen(int count) {
        return count <= MOST_IDLE;
    }

    /// Runs an action for several elements, as many at once as is good for where the members are.
    ///
    /// @param all the elements
    /// @param work the action
    /// @throws IOException the exception of the first failure, as are unchecked ones
    <T> void shared(List<T> all, Workers.Work<? super T> work) throws IOException {
        share(all, isStore(), work);
    }

    static <T> void share(List<T> all, boolean isStore, Workers.Work<? super T> work) throws IOException {
        if (isStore) {
            Workers.atOnce(all, AT_ONCE, work);
        } else {
            Workers.share(all, work);
        }
    }

    /// Opens a member as a file, whatever is in it.
    ///
    /// @param number its number
    /// @return the file, with one holder
    /// @throws FormatException if there is no such file, or it is not where it may be
    /// @throws IOException if it cannot be opened
    public MappedFile file(int number) throws IOException {
        Member member = members.get(number);
        MappedFile file = file(member.name);
        member.companion = Companion.of(file);
        return file;
    }

    private MappedFile file(String name) throws IOException {
        if (name.isEmpty()) {
            return index.retain();
        }
        if (!isStore()) {
            Path path = locate(name);
            MappedFile opened = MappedFile.open(path, options.mapping(), budget);
            if (ConfinedPath.isStill(path)) {
                return opened;
            }
            opened.close();
            throw refused(name, "was exchanged while it was opened", Remedy.of("Open the set again"));
        }
        try {
            return Stores.sibling(index, name, options, budget);
        } catch (RemoteFileException e) {
            if (e.kind() != RemoteFileException.Kind.NOT_FOUND) {
                throw e;
            }
            throw missing(name, "is missing: it is not next to " + FormatException.quote(index.location()));
        }
    }

    /// {@return the paths of the members that are there; empty in a store}
    ///
    /// @throws IOException if they cannot be looked up
    public List<Path> paths() throws IOException {
        List<Path> paths = new ArrayList<>();
        for (Member member : isStore() ? List.<Member>of() : members) {
            try {
                paths.add(locate(member.name));
            } catch (FormatException _) {
                // Not needed for the tensors that were chosen.
            }
        }
        return paths;
    }

    /// {@return the path of a member, without symbolic links}
    private Path locate(String name) throws IOException {
        String below = FormatException.quote(directories.getFirst().toString());
        Path path = null;
        Path real;
        try {
            path = find(name).orElseThrow(() -> missing(name, "is not below " + below));
            real = path.toRealPath();
        } catch (NoSuchFileException _) {
            throw path != null && Files.isSymbolicLink(path)
                    ? refused(name, "is a link to " + FormatException.quote(Files.readSymbolicLink(path).toString())
                            + ", which is missing", Remedy.of("Get that file again from its source"))
                    : missing(name, "is missing: it is not in " + below);
        } catch (FileSystemException e) {
            throw refused(name, "cannot be accessed" + (e.getReason() == null ? "" : ": " + e.getReason()),
                    Remedy.of("Check its name, and that it may be read"));
        } catch (InvalidPathException _) {
            throw refused(name, "has a name that no file here can have", Remedy.of("Run Java in a locale of UTF-8"));
        }
        if (!isAllowed(real)) {
            throw refused(name, "is a link to a file that is not below " + below,
                    Remedy.naming("Name a directory with {} below which files may be opened", "OpenOptions.root"));
        }
        if (!Files.isRegularFile(real)) {
            throw missing(name, "is not a regular file");
        }
        return real;
    }

    /// {@return where a member is, or nothing if its name means something else on this system}
    private Optional<Path> find(String name) {
        return ConfinedPath.relative(directories.getLast().getFileSystem(), name).map(relative -> directories.stream()
                .map(directory -> directory.resolve(relative))
                .filter(path -> Files.exists(path, LinkOption.NOFOLLOW_LINKS)).findFirst()
                .orElseGet(() -> directories.getLast().resolve(relative)));
    }

    private boolean isAllowed(Path real) throws IOException {
        return directories.stream().anyMatch(real::startsWith)
                || (options.root().isPresent() && real.startsWith(options.root().get().toRealPath()));
    }

    private FormatException missing(String name, String what) {
        return refused(name, what, Remedy.of("Put it next to the index"));
    }

    private FormatException refused(String name, String what, Remedy remedy) {
        return refusal.of("the shard " + FormatException.quote(name) + ' ' + what, remedy);
    }

    /// {@return the members other than the index that were opened so far, as they were then, by their numbers}
    SequencedMap<Integer, Companion> companions() {
        SequencedMap<Integer, Companion> companions = new LinkedHashMap<>();
        for (Member member : members) {
            Companion companion = member.companion;
            if (companion != null && !member.name.isEmpty()) {
                companions.put(member.number, companion);
            }
        }
        return companions;
    }

    /// Uses a member, which is opened if it is not.
    ///
    /// @param number its number
    /// @param use what is done
    /// @return its result
    /// @param <T> the type of the result
    /// @throws FormatException if it is missing, malformed, or another file; names the file
    /// @throws IOException if reading fails
    public <T> T use(int number, Use<? super C, T> use) throws IOException {
        Member member = members.get(number);
        member.enter();
        try {
            MappedFile file = Objects.requireNonNull(member.file);
            try {
                return use.on(file, Objects.requireNonNull(member.contents));
            } catch (FormatException e) {
                throw e.withFile(file.location());
            }
        } finally {
            member.leave();
            closeSurplus();
        }
    }

    /// Uses a member, and keeps it open until the set is closed.
    ///
    /// @param number its number
    /// @param use what is done
    /// @return its result
    /// @param <T> the type of the result
    /// @throws IOException as [#use]
    public <T> T keep(int number, Use<? super C, T> use) throws IOException {
        return use(number, (file, contents) -> {
            keep(number, Integer.MAX_VALUE);
            return use.on(file, contents);
        });
    }

    /// {@return whether a used member stays open until the set is closed: not if too many others do}
    ///
    /// @param number its number
    /// @param most how many others
    boolean keep(int number, int most) {
        return members.get(number).keep(most);
    }

    /// {@return whether a member stays open until the set is closed}
    ///
    /// @param number its number
    boolean isKept(int number) {
        return keep(number, 0);
    }

    private void closeSurplus() {
        while (true) {
            Member oldest;
            synchronized (idle) {
                if (open.get() <= MOST_IDLE || idle.isEmpty()) {
                    return;
                }
                oldest = idle.removeFirst();
            }
            oldest.releaseUnused();
        }
    }

    /// Closes all members, each as soon as nobody uses it, and the index. Tensors that are views of their memory end,
    /// unless their storages were retained. The last member is closed first: it may have storages that are made of the
    /// others.
    @Override
    public void close() {
        members.reversed().forEach(Member::close);
        index.close();
    }

    /// A file of the set.
    private final class Member {
        private final int number;
        private final String name;
        private volatile @Nullable Companion companion;
        private @Nullable MappedFile file;
        private @Nullable C contents;
        private int users;
        private boolean isKept;
        private boolean isClosed;

        Member(int number, String name) {
            this.number = number;
            this.name = name;
        }

        synchronized void enter() throws IOException {
            if (isClosed) {
                throw new IllegalStateException("the set of " + index.location()
                        + " is closed; close it later, or open it again");
            }
            if (contents == null) {
                MappedFile opened = file(number);
                try {
                    contents = opening.open(number, opened);
                } catch (FormatException e) {
                    opened.close();
                    throw e.withFile(opened.location());
                } catch (Throwable e) {
                    opened.close();
                    throw e;
                }
                file = opened;
                open.incrementAndGet();
            }
            synchronized (idle) {
                idle.remove(this);
            }
            users++;
        }

        synchronized void leave() {
            users--;
            if (users == 0 && isClosed) {
                release();
            } else if (users == 0 && !isKept) {
                synchronized (idle) {
                    idle.addLast(this);
                }
            }
        }

        synchronized boolean keep(int most) {
            if (!isKept && kept.get() < most) {
                kept.incrementAndGet();
                isKept = true;
            }
            return isKept;
        }

        /// Another thread may have begun to use it, or to keep it, since it was idle.
        synchronized void releaseUnused() {
            if (users == 0 && !isKept) {
                release();
            }
        }

        synchronized void close() {
            isClosed = true;
            if (users == 0) {
                release();
            }
        }

        private void release() {
            synchronized (idle) {
                idle.remove(this);
            }
            if (contents != null) {
                open.decrementAndGet();
                contents.release();
                contents = null;
            }
            if (file != null) {
                file.close();
                file = null;
            }
        }
    }
}
