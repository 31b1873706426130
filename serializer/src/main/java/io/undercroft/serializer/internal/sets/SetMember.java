package io.undercroft.serializer.internal.sets;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Shard;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.CroftContents;
import io.undercroft.serializer.internal.CroftFormat;
import io.undercroft.serializer.internal.FileSource;
import io.undercroft.serializer.spi.Companion;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Objects;
import java.util.SequencedSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/// A shard of an open set. It is open while it is used, and stays open if it has lent memory, or until many others were
/// used after it. Safe for any thread.
final class SetMember {
    /// How many shards of a set stay open without need: a process may have a limited number of open files.
    private static final int MOST_IDLE = 256;
    /// How many shards stay open for mapped storages. Those of further ones are read into memory.
    private static final int MOST_LENDING = 128;

    private final Shard shard;
    private final SetPlace place;
    private final OpenOptions options;
    private final MapBudget budget;
    private final Counts counts;
    private @Nullable Companion companion;
    private @Nullable MappedFile file;
    private @Nullable CroftContents contents;
    private int users;
    private boolean hasLent;
    private boolean isClosed;

    /// The open shards of a set.
    static final class Counts {
        private final AtomicInteger open = new AtomicInteger();
        private final AtomicInteger lending = new AtomicInteger();
        /// Those that are open without need, the one that was used longest ago first.
        private final SequencedSet<SetMember> idle = new LinkedHashSet<>();

        private synchronized void addIdle(SetMember member) {
            idle.addLast(member);
        }

        private synchronized void removeIdle(SetMember member) {
            idle.remove(member);
        }

        /// {@return one that is to be closed, if too many are open, or else null}
        private synchronized @Nullable SetMember surplus() {
            return open.get() > MOST_IDLE && !idle.isEmpty() ? idle.removeFirst() : null;
        }
    }

    /// @param counts those of the set
    SetMember(Shard shard, SetPlace place, OpenOptions options, MapBudget budget, Counts counts) {
        this.shard = shard;
        this.place = place;
        this.options = options;
        this.budget = budget;
        this.counts = counts;
    }

    /// {@return whether so many shards stay open if only these are used}
    ///
    /// @param count how many shards
    static boolean allStayOpen(int count) {
        return count <= MOST_IDLE;
    }

    Shard shard() {
        return shard;
    }

    /// Checks that the file is there and is the right one, and leaves nothing open.
    ///
    /// @throws FormatException by rule V21 if not
    void check() throws IOException {
        try (MappedFile found = place.open(shard, options, budget)) {
            try {
                shard.check(new FileSource(found), Limits.DEFAULT);
                companion = Companion.of(found);
            } catch (FormatException e) {
                throw e.withFile(found.location());
            }
        }
    }

    /// {@return the file as it was when it was [checked][#check]}
    Companion companion() {
        return Objects.requireNonNull(companion);
    }

    /// What is done with an open shard.
    @FunctionalInterface
    interface Use<T> {
        T on(MappedFile file, CroftContents contents) throws IOException;
    }

    /// Uses the shard, which is opened if it is not.
    ///
    /// @throws FormatException by rule V21 if it is missing or another file
    <T> T use(Use<T> use) throws IOException {
        enter();
        try {
            MappedFile there = Objects.requireNonNull(file);
            try {
                return use.on(there, Objects.requireNonNull(contents));
            } catch (FormatException e) {
                throw e.withFile(there.location());
            }
        } finally {
            leave();
        }
    }

    /// Uses the shard, and keeps it open until the set is closed.
    <T> T lend(Use<T> use) throws IOException {
        return use((there, held) -> {
            startLending(Integer.MAX_VALUE);
            return use.on(there, held);
        });
    }

    /// {@return the bytes of a storage, mapped, for which the shard stays open; or read into memory, if the options
    /// require that or so many shards stay open already}
    ///
    /// @param number the number of the storage
    Allocation bytes(int number) throws IOException {
        return use((_, held) -> {
            boolean isLent = !options.isInMemory()
                    && startLending(options.mapping() == MapMode.SHARED ? Integer.MAX_VALUE : MOST_LENDING);
            return isLent || options.isInMemory()
                    ? held(held.storage(number))
                    : held.read(number);
        });
    }

    private static Allocation held(Storage storage) {
        storage.retain();
        try {
            Allocation held = new Allocation(storage.segment(),
                    storage.isShared() ? Allocation.Sharing.SHARED : Allocation.Sharing.PRIVATE,
                    storage.filename().orElse(null), storage.origin().orElse(null), storage::release);
            return storage.backing().map(held::withBacking).orElse(held);
        } catch (Throwable e) {
            storage.release();
            throw e;
        }
    }

    /// {@return whether the shard stays open: not if so many others do}
    private synchronized boolean startLending(int most) {
        if (!hasLent && counts.lending.get() < most) {
            counts.lending.incrementAndGet();
            hasLent = true;
        }
        return hasLent;
    }

    /// {@return whether memory of the shard was lent}
    synchronized boolean hasLent() {
        return hasLent;
    }

    private synchronized void enter() throws IOException {
        if (isClosed) {
            throw new IllegalStateException("the set of " + shard.path() + " is closed; close it later, or open it "
                    + "again");
        }
        if (contents == null) {
            MappedFile opened = place.open(shard, options, budget);
            try {
                contents = CroftFormat.openShard(opened, shard, options);
            } catch (FormatException e) {
                opened.close();
                throw e.withFile(opened.location());
            } catch (Throwable e) {
                opened.close();
                throw e;
            }
            file = opened;
            counts.open.incrementAndGet();
        }
        counts.removeIdle(this);
        users++;
    }

    private void leave() {
        endUse();
        for (SetMember oldest = counts.surplus(); oldest != null; oldest = counts.surplus()) {
            oldest.releaseUnused();
        }
    }

    private synchronized void endUse() {
        users--;
        if (users == 0 && isClosed) {
            release();
        } else if (users == 0 && !hasLent) {
            counts.addIdle(this);
        }
    }

    /// Another thread may have begun to use it, or have lent memory of it, since it was idle.
    private synchronized void releaseUnused() {
        if (users == 0 && !hasLent) {
            release();
        }
    }

    /// Releases the memory of the shard, once nobody uses it.
    synchronized void close() {
        isClosed = true;
        if (users == 0) {
            release();
        }
    }

    private void release() {
        counts.removeIdle(this);
        if (contents != null) {
            counts.open.decrementAndGet();
            contents.release();
            contents = null;
        }
        if (file != null) {
            file.close();
            file = null;
        }
    }
}
