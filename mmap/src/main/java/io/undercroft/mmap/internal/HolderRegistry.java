package io.undercroft.mmap.internal;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedSegment.Holder.State;
import io.undercroft.mmap.SharedSegment.Holder;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.mmap.internal.Processes.ProcessKey;
import io.undercroft.mmap.internal.SegmentRecords.Entry;
import io.undercroft.mmap.internal.SegmentRecords.HoldRecord;
import io.undercroft.mmap.internal.SegmentRecords.Role;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The names of shared memory, and a registry of the holders of its segments that is kept next to them, so that a name
/// is removed in time however its holders end. There is no daemon: each process that uses the registry cleans up.
///
/// ## Files
///
///     /dev/shm/undercroft-UID/                       locked (flock) during each change
///         processes/PID-START-NS                     a process that holds something; it keeps the file locked
///         drafts/PID-START-NS.N                      a segment that is being filled
///         segments/NAME/INODE.LIFETIME               how long NAME lasts, as long as it means that inode
///         segments/NAME/INODE.ROLE.PID-START-NS.N    one hold on it
///
/// All files but the drafts are empty: their names are the records. So each change is one system call, and no process
/// reads an entry that is written in part. And an empty file can be created even if the file system is full, so that
/// segments can be attached and released then.
///
/// The directory exists only while it contains something. The last process to leave removes it.
///
/// ## If the name is taken
///
/// Another user may create `undercroft-UID` first. Then the directory is `undercroft-UID-RANDOM`: another process of
/// this user finds it by its owner, as no other user can create a file of this user, and a directory cannot be linked.
///
/// All processes of the user have to choose the same one. So an existing one of this user is used before a new one is
/// created, and if there are several, the one that is in use, or else the first by name. If another user owns the name
/// and two processes are the first ones at the same moment, each may create one. Then each sees only its own, which
/// affects [#list] and names that are removed with their last holder, until these processes have ended.
///
/// ## Two rules
///
/// **A record counts only for the inode that the name means now.** So the records of a segment may be
/// written before its name exists and removed after it, and those of a segment whose name was removed by another
/// program, or belongs to a new segment, have no effect.
///
/// **A process runs as long as its file is locked.** ([Processes] explains why the process number is not used.)
///
/// ## If a process is killed between two steps
///
/// Everything except filling a draft is done under the lock, which the kernel releases when a process ends. What an
/// ended process leaves is removed by *collecting*: explicitly ([#gc]), by every process at its first hold, and by a
/// process that finds a name left by an ended one. Records of another inode than that of the name are removed sooner:
/// by the process that next uses the name.
///
/// | killed | what remains |
/// |---|---|
/// | after making a directory | the empty directory, which the next process that leaves removes |
/// | after making its process file, before locking it | a process file that is not locked |
/// | while filling a draft | the draft of an ended process |
/// | *creating*, after a record, before the name | records of an inode that the name does not mean; the draft |
/// | *creating*, after the name | a segment whose creator has ended |
/// | *publishing*, after a record, before the name | the old segment and its records; the new ones; the draft |
/// | *publishing*, after the name, before the old records are removed | the new segment, whose creator has ended; the old records |
/// | *attaching*, after the record | the hold of an ended process |
/// | *releasing*, before the name is removed | the hold of an ended process |
/// | *releasing*, after the name, before the last record is removed | records of another inode than that of the name |
/// | *leaving*, after its process file, before the directories are removed | directories, empty |
/// | *collecting*, anywhere | a part of what there was before |
///
/// In each of these states running processes keep everything that they hold: a name is removed only when its
/// [NameLifetime] has ended.
///
/// The inode number of a record does not identify a segment where numbers of removed files are reused at once, as on
/// disks. There (a `/dev/shm` that is a plain directory) a name is removed only by a holder of its segment, whose
/// number cannot be reused as long as it is held, and never on behalf of an ended process.
///
/// Files in the directory with other names are ignored, and are never a reason to remove a segment.
///
/// ## Threads, and delayed releases
///
/// All methods are safe for any thread. The threads of this process wait for each other, and one of them waits for
/// other processes: in total for half a minute at most, and at the end of this process for two seconds.
///
/// A release must not fail, but may be impossible: another process has the lock, or there is no descriptor left. So a
/// release is queued first, and the thread that next has the lock performs it before its own operation.
public final class HolderRegistry {
    private static final Pattern DRAFT = Pattern.compile(ProcessKey.PATTERN + "\\.\\d{1,18}");
    /// The end of the name of a directory that is chosen because another user owns the name.
    private static final Pattern SUFFIX = Pattern.compile("-[0-9a-z]{1,13}");
    private static final long NONE = -1;
    /// The step that only runs pending actions under the lock.
    private static final IoTask<Boolean> NOTHING = () -> true;
    /// An attempt fails if another process creates a directory of the name at that moment.
    private static final int ATTEMPTS = 10;

    private final RegistryFiles files;
    /// The directory that has the segments.
    private final String home;
    /// The directory of the registry unless another user owns it.
    private final String preferred;
    private final ProcessKey self;
    private final ReentrantLock threads = new ReentrantLock();
    private final Set<Hold> holds = ConcurrentHashMap.newKeySet();
    private final Set<Draft> drafts = ConcurrentHashMap.newKeySet();
    /// The releases that are still to be performed.
    private final Queue<Step> pending = new ConcurrentLinkedQueue<>();
    private long count;
    private boolean hasCollected;
    /// The directory in which this process is registered, or was last; it changes only while the process holds nothing.
    private volatile Place place;

    /// The directory of a registry, and its contents.
    ///
    /// @param root its path
    /// @param drafts the path of the directory of drafts
    /// @param records the records of segments
    /// @param processes the running processes
    private record Place(String root, String drafts, SegmentRecords records, Processes processes) {
        static Place of(RegistryFiles files, String root, ProcessKey self) {
            return new Place(root, root + "/drafts", new SegmentRecords(files, root + "/segments"),
                    new Processes(files, root + "/processes", self));
        }
    }

    /// A registry next to the segments.
    ///
    /// @param files the steps
    /// @param home the directory that has the segments
    /// @param user the number of their owner
    /// @param self the key of this process
    HolderRegistry(RegistryFiles files, String home, long user, ProcessKey self) {
        this.files = files;
        this.home = home;
        this.preferred = home + "/undercroft-" + user;
        this.self = self;
        this.place = Place.of(files, preferred, self);
    }

    /// {@return the registry of this process; only where the library can be called}
    public static HolderRegistry ofThisProcess() {
        return OfThisProcess.REGISTRY;
    }

    /// Made on first use.
    private static final class OfThisProcess {
        static final HolderRegistry REGISTRY = make(Libc.find().orElseThrow());

        private static HolderRegistry make(Libc libc) {
            HolderRegistry registry = new HolderRegistry(new RegistryFiles(libc), "/dev/shm", libc.userId(),
                    ProcessKey.ofThisProcess());
            try {
                Runtime.getRuntime().addShutdownHook(new Thread(registry::releaseAll, "undercroft-shared-memory"));
            } catch (IllegalStateException ending) {
                // A record made while the JVM ends is left for other processes to remove.
            }
            return registry;
        }
    }

    @FunctionalInterface
    private interface Step {
        void run() throws IOException;
    }

    /// A segment that was opened.
    ///
    /// @param fd its descriptor
    /// @param hold the hold on it; empty if it needs no release
    public record Attached(int fd, Optional<Hold> hold) {}

    /// The use of a segment by this process, until it is released.
    public final class Hold implements Step {
        private final String name;
        private final HoldRecord record;

        private Hold(String name, HoldRecord record) {
            this.name = name;
            this.record = record;
        }

        /// Releases the segment, and removes its name if the lifetime of the name has ended. Does nothing the second
        /// time. Throws nothing: if it cannot be done now, that is logged, and it is done when this process next uses
        /// shared memory, or by another process after this one has ended.
        public void release() {
            settle("/" + name + " is not released yet", this);
        }

        /// Releases it under the lock.
        @Override
        public void run() throws IOException {
            letGo(this);
        }
    }

    /// A segment of this process that is being filled: a file of the directory of drafts. Used by one thread at a time.
    public final class Draft implements AutoCloseable {
        private final String path;
        private final int fd;

        private Draft(String path, int fd) {
            this.path = path;
            this.fd = fd;
        }

        /// {@return its descriptor, open for reading and writing until it is closed or has a name}
        public int descriptor() {
            return fd;
        }

        /// Names the segment. The name must not exist. The draft is closed if this succeeds.
        ///
        /// @param name the name, without a slash: the one for which the draft was started, if any
        /// @param lifetime the lifetime of the name
        /// @return the creator's hold
        /// @throws IOException if it cannot be done; [ErrnoException#EEXIST] if the name is in use
        public Hold create(String name, NameLifetime lifetime) throws IOException {
            return locked(() -> {
                vacate(name);
                return named(this, name, lifetime, false);
            });
        }

        /// Names the segment, and replaces a segment of that name. The draft is closed if this succeeds.
        ///
        /// @param name the name, without a slash
        /// @param lifetime the lifetime of the name
        /// @return the creator's hold
        /// @throws IOException if it cannot be done
        public Hold publish(String name, NameLifetime lifetime) throws IOException {
            return locked(() -> named(this, name, lifetime, true));
        }

        /// Removes the draft, unless it was given a name. Does nothing the second time.
        @Override
        public void close() {
            if (drafts.contains(this)) {
                settle("a draft is not removed yet", () -> closeDraft(this));
            }
        }
    }

    /// Starts a segment without a name in mind.
    ///
    /// @return the draft
    /// @throws IOException if there cannot be one
    public Draft draft() throws IOException {
        return locked(this::newDraft);
    }

    /// Starts a segment whose name must be free, or be held by ended processes only: then it is freed now.
    ///
    /// @param name the name, without a slash
    /// @return the draft
    /// @throws IOException if there cannot be one; [ErrnoException#EEXIST] if the name is in use
    public Draft draft(String name) throws IOException {
        return locked(() -> {
            vacate(name);
            return newDraft();
        });
    }

    /// Opens a segment, and holds it.
    ///
    /// @param name the name, without a slash
    /// @param flags the flags for opening it
    /// @param ofAnybody whether it may belong to another user than this one and root
    /// @return the segment
    /// @throws IOException if it cannot be done; [ErrnoException#ENOENT] if there is none
    /// @throws SharedMemoryException if it belongs to another user
    public Attached attach(String name, int flags, boolean ofAnybody) throws IOException {
        if (!isThere()) {
            int fd = opened(name, flags, ofAnybody);
            // The record was written before the segment had its name.
            if (!isThere()) {
                return new Attached(fd, Optional.empty());
            }
            files.close(fd);
        }
        return locked(() -> attached(name, opened(name, flags, ofAnybody)));
    }

    /// Removes a name.
    ///
    /// @param name the name, without a slash
    /// @return whether there was such a name
    /// @throws IOException if it cannot be done
    public boolean unlink(String name) throws IOException {
        if (!isThere()) {
            return files.remove(path(name));
        }
        return locked(() -> {
            boolean removed = files.remove(path(name));
            place.records.forgetOthers(name, NONE);
            return removed;
        });
    }

    /// Removes a name of the lifetime [NameLifetime#UNTIL_UNLINKED] if no running process holds its segment.
    ///
    /// @param name the name, without a slash
    /// @return the segment, as it was; empty if there is no such name, it is removed automatically, or a process holds
    ///     it
    /// @throws IOException if it cannot be done
    public Optional<SharedSegment> unlinkIfUnheld(String name) throws IOException {
        return isThere() ? locked(() -> endIfUnheld(name)) : Optional.empty();
    }

    /// {@return a segment with its holders; empty if it is not registered, or does not have the name any more}
    ///
    /// @param name the name, without a slash
    /// @param inode of the segment
    /// @throws IOException if a system call fails
    public Optional<SharedSegment> find(String name, long inode) throws IOException {
        return isUsed() ? locked(() -> found(name, inode)) : Optional.empty();
    }

    /// {@return the segments that are known, by name}
    ///
    /// @throws IOException if a system call fails
    public List<SharedSegment> list() throws IOException {
        return isUsed() ? locked(this::segments) : List.of();
    }

    /// Removes what ended processes left: names that lasted no longer than they did, drafts, records.
    ///
    /// @return the segments whose names were removed
    /// @throws IOException if a system call fails
    public List<SharedSegment> gc() throws IOException {
        return isUsed() ? locked(this::collect) : List.of();
    }

    /// Returns whether there is a registry of this user.
    private boolean isThere() throws IOException {
        return files.isOurs(root());
    }

    /// Returns whether there is a registry, or another file of this user with its name, which is refused when it is
    /// locked.
    private boolean isUsed() throws IOException {
        return files.inode(root()).isPresent();
    }

    private String root() throws IOException {
        return isIdle() ? choose() : place.root;
    }

    /// Returns the path of the directory, which may not exist yet.
    private String choose() throws IOException {
        if (files.isOurs(preferred)) {
            return preferred;
        }
        String first = null;
        for (String name : files.list(home).stream().sorted().toList()) {
            String other = home + "/" + name;
            boolean isFallback = other.startsWith(preferred)
                    && SUFFIX.matcher(other.substring(preferred.length())).matches();
            if (isFallback && files.isOurs(other)) {
                if (!files.list(other).isEmpty()) {
                    return other;
                }
                first = first == null ? other : first;
            }
        }
        if (first != null) {
            return first;
        }
        return files.isForeign(preferred)
                ? preferred + "-" + Long.toString(ThreadLocalRandom.current().nextLong(Long.MAX_VALUE),
                        Character.MAX_RADIX)
                : preferred;
    }

    private boolean isIdle() {
        return holds.isEmpty() && drafts.isEmpty() && !place.processes.isEntered();
    }

    /// Releases everything, at the end of this process.
    void releaseAll() {
        if (holds.isEmpty() && drafts.isEmpty()) {
            return;
        }
        pending.addAll(holds);
        drafts.forEach(draft -> pending.add(() -> removeDraft(draft)));
        orWarn("shared memory is not released until another process collects it",
                () -> locked(Deadline.in(files.patienceAtTheEnd()), NOTHING));
    }

    private <T> T locked(IoTask<T> task) throws IOException {
        return locked(Deadline.in(files.patience()), task);
    }

    private <T> T locked(Deadline deadline, IoTask<T> task) throws IOException {
        if (!threads.tryLock()) {
            deadline.await(threads::tryLock, "other threads of this process wait for the lock of " + place.root,
                    place.root);
        }
        try (Lock _ = takeLock(deadline)) {
            try {
                runPending();
                return task.run();
            } finally {
                leaveIfIdle();
            }
        } finally {
            threads.unlock();
        }
    }

    /// Chooses the directory again while this process is in none: another user may have created one of that name.
    private Lock takeLock(Deadline deadline) throws IOException {
        for (int attempt = 1; isIdle(); attempt++) {
            String root = choose();
            if (!root.equals(place.root)) {
                place = Place.of(files, root, self);
            }
            try {
                return Lock.take(files, root, deadline);
            } catch (SharedMemoryException e) {
                if (attempt == ATTEMPTS || !files.isForeign(root)) {
                    throw e;
                }
            }
        }
        return Lock.take(files, place.root, deadline);
    }

    /// Runs an action now if possible, otherwise in the thread that next has the lock. Throws nothing: after an error,
    /// an arena would not run its other actions.
    private void settle(String otherwise, Step step) {
        pending.add(step);
        try {
            locked(NOTHING);
        } catch (IOException | OutOfMemoryError e) {
            warn(otherwise + ": " + e.getMessage());
        }
    }

    private void runPending() {
        for (Iterator<Step> steps = pending.iterator(); steps.hasNext();) {
            Step step = steps.next();
            try {
                step.run();
                steps.remove();
            } catch (IOException e) {
                warn("shared memory is not released yet: " + e.getMessage());
            }
        }
    }

    /// Runs an action whose failure is logged instead of thrown.
    private static void orWarn(String otherwise, Step step) {
        try {
            step.run();
        } catch (IOException | OutOfMemoryError e) {
            warn(otherwise + ": " + e.getMessage());
        }
    }

    /// Writes a warning in a separate thread: logging may fail too if there is no descriptor left.
    private static void warn(String message) {
        Thread.startVirtualThread(
                () -> System.getLogger(HolderRegistry.class.getName()).log(Level.WARNING, message));
    }

    /// Registers this process. The first time it also collects what ended processes left.
    private void enter() throws IOException {
        place.processes.enter();
        if (hasCollected) {
            return;
        }
        hasCollected = true;
        try {
            collect();
        } catch (IOException e) {
            warn("what ended processes left is not removed: " + e.getMessage());
        }
    }

    /// Removes this process from the registry if it holds nothing, and the registry with the last process.
    private void leaveIfIdle() {
        if (!holds.isEmpty() || !drafts.isEmpty()) {
            return;
        }
        orWarn(place.root + " is not removed", () -> {
            place.processes.leave();
            place.records.removeFolder();
            files.removeFolder(place.drafts);
            files.removeFolder(place.root);
        });
    }

    private Draft newDraft() throws IOException {
        enter();
        files.makeFolder(place.drafts);
        String path = place.drafts + "/" + place.processes.self() + "." + ++count;
        Draft draft = new Draft(path, files.create(path));
        drafts.add(draft);
        return draft;
    }

    private void closeDraft(Draft draft) throws IOException {
        if (drafts.contains(draft)) {
            removeDraft(draft);
            files.close(draft.fd);
        }
    }

    /// Does not close the descriptor, as a thread may still write to it when this process ends: after a close the
    /// number could belong to another file.
    private void removeDraft(Draft draft) throws IOException {
        files.remove(draft.path);
        drafts.remove(draft);
    }

    /// Records the holder of a segment and the lifetime of its name, and then gives it the name.
    private Hold named(Draft draft, String name, NameLifetime lifetime, boolean replaces)
            throws IOException {
        enter();
        long inode = files.inode(draft.fd);
        Hold hold;
        try {
            place.records.open(name);
            hold = newHold(name, inode, Role.CREATOR);
            place.records.add(name, Entry.record(inode, lifetime));
            if (replaces) {
                files.rename(draft.path, path(name));
            } else {
                files.renameIfFree(draft.path, path(name));
            }
        } catch (Throwable e) {
            holds.removeIf(each -> each.record.inode() == inode);
            orWarn("records of a segment without a name are not removed", () -> place.records.forget(name, inode));
            throw e;
        }
        // From here on the name exists, and nothing may fail.
        drafts.remove(draft);
        files.close(draft.fd);
        orWarn("records of earlier segments of the name /" + name + " are not removed",
                () -> place.records.forgetOthers(name, inode));
        return hold;
    }

    private int opened(String name, int flags, boolean ofAnybody) throws IOException {
        files.checkMemory(path(name));
        int fd = files.openSegment(name, flags);
        try {
            // Checked again, as the name may have been taken meanwhile.
            files.checkSegment(fd, ofAnybody);
            return fd;
        } catch (Throwable e) {
            files.close(fd);
            throw e;
        }
    }

    private Attached attached(String name, int fd) throws IOException {
        try {
            return new Attached(fd, held(name, files.inode(fd)));
        } catch (Throwable e) {
            files.close(fd);
            throw e;
        }
    }

    /// Returns a hold on a segment that was opened, if it is registered; fails if the lifetime of its name has ended.
    private Optional<Hold> held(String name, long inode) throws IOException {
        Entry entry = place.records.entry(name, inode);
        if (entry.lifetime().isEmpty()) {
            return Optional.empty();
        }
        if (entry.isOver(place.processes)) {
            collect();
            if (files.inode(path(name)).equals(Optional.of(inode))) {
                return Optional.empty();
            }
            throw new ErrnoException("shm_open", ErrnoException.ENOENT);
        }
        return Optional.of(newHold(name, inode, Role.HOLDER));
    }

    private Hold newHold(String name, long inode, Role role) throws IOException {
        enter();
        Hold hold = new Hold(name, new HoldRecord(inode, role, place.processes.self(), ++count));
        place.records.add(name, hold.record.toString());
        holds.add(hold);
        return hold;
    }

    private void letGo(Hold hold) throws IOException {
        HoldRecord record = hold.record;
        Entry entry = place.records.entry(hold.name, record.inode());
        // Otherwise it was released before, or the name was unlinked or belongs to another segment.
        if (holds.contains(hold) && entry.holds().contains(record)) {
            if (entry.without(record).isOver(place.processes)) {
                end(hold.name, record.inode());
            } else {
                place.records.remove(hold.name, record);
            }
        }
        holds.remove(hold);
    }

    /// Ensures that a name is free. If an ended process left it, collects everything that ended processes left.
    private void vacate(String name) throws IOException {
        Optional<Long> inode = files.inode(path(name));
        if (inode.isPresent() && place.records.entry(name, inode.get()).isOver(place.processes)) {
            collect();
        }
        if (files.inode(path(name)).isPresent()) {
            throw new ErrnoException("link", ErrnoException.EEXIST);
        }
        place.records.forgetOthers(name, NONE);
    }

    /// Removes a name if it still means that segment, and then its records.
    private void end(String name, long inode) throws IOException {
        if (files.inode(path(name)).equals(Optional.of(inode))) {
            files.remove(path(name));
        }
        place.records.forget(name, inode);
    }

    /// The same for a segment without holders: where inode numbers are reused, the name may belong to another file of
    /// that number. Then it remains, as one that is not registered.
    private boolean endUnheld(String name, long inode) throws IOException {
        if (files.reusesInodes(home)) {
            warn(path(name) + " is not removed, as it may belong to another program: " + home
                    + " is not a memory file system, and reuses the inode numbers of removed files; remove the name "
                    + "if it is not used, and mount a tmpfs there");
            place.records.forget(name, inode);
            return false;
        }
        end(name, inode);
        return true;
    }

    /// Removes a name of the lifetime [NameLifetime#UNTIL_UNLINKED] unless a running process holds its segment.
    private Optional<SharedSegment> endIfUnheld(String name) throws IOException {
        long inode = files.inode(path(name)).orElse(NONE);
        Entry entry = place.records.entry(name, inode);
        if (!entry.isUnheld(place.processes)) {
            return Optional.empty();
        }
        SharedSegment segment = segment(name, entry);
        end(name, inode);
        return Optional.of(segment);
    }

    /// Removes what ended processes left, and records without effect.
    private List<SharedSegment> collect() throws IOException {
        List<SharedSegment> removed = new ArrayList<>();
        for (String name : place.records.names()) {
            long inode = files.inode(path(name)).orElse(NONE);
            Entry entry = place.records.entry(name, inode);
            if (entry.isOver(place.processes)) {
                SharedSegment segment = segment(name, entry);
                if (endUnheld(name, inode)) {
                    removed.add(segment);
                }
            } else {
                forgetEnded(name, entry);
            }
            place.records.forgetOthers(name, inode);
        }
        removeAbandonedDrafts();
        place.processes.forgetEnded();
        return removed;
    }

    private void removeAbandonedDrafts() throws IOException {
        for (String draft : files.list(place.drafts)) {
            Matcher match = DRAFT.matcher(draft);
            if (match.matches() && !place.processes.isAlive(ProcessKey.of(match, 1))) {
                files.remove(place.drafts + "/" + draft);
            }
        }
    }

    private void forgetEnded(String name, Entry entry) throws IOException {
        for (HoldRecord hold : entry.holds()) {
            if (!place.processes.isAlive(hold.process())) {
                place.records.remove(name, hold);
            }
        }
    }

    private Optional<SharedSegment> found(String name, long inode) throws IOException {
        boolean hasName = files.inode(path(name)).equals(Optional.of(inode));
        Entry entry = place.records.entry(name, inode);
        return hasName && entry.lifetime().isPresent() ? Optional.of(segment(name, entry)) : Optional.empty();
    }

    private List<SharedSegment> segments() throws IOException {
        List<SharedSegment> all = new ArrayList<>();
        for (String name : place.records.names()) {
            Optional<Long> inode = files.inode(path(name));
            Entry entry = place.records.entry(name, inode.orElse(NONE));
            if (entry.lifetime().isPresent()) {
                all.add(segment(name, entry));
            }
        }
        all.sort(Comparator.comparing(SharedSegment::name));
        return all;
    }

    private SharedSegment segment(String name, Entry entry) throws IOException {
        List<Holder> holders = new ArrayList<>();
        for (HoldRecord hold : entry.holds()) {
            ProcessKey process = hold.process();
            holders.add(new Holder(process.pid(), process.start(),
                    place.processes.isAlive(process) ? State.ALIVE : State.DEAD));
        }
        return new SharedSegment(name, files.size(path(name)), entry.lifetime().orElseThrow(), holders);
    }

    private String path(String name) {
        return home + "/" + name;
    }

    /// The lock of the registry, which one process has at a time: `flock` on the directory itself, which the kernel
    /// releases when a process is killed.
    ///
    /// The last process removes the directory, so that a waiting one may get the lock of a removed directory: it then
    /// opens the path again and waits for the lock of the new one.
    static final class Lock implements AutoCloseable {
        private final RegistryFiles files;
        private final int fd;

        private Lock(RegistryFiles files, int fd) {
            this.files = files;
            this.fd = fd;
        }

        /// Waits for the lock of a directory, which is created if it does not exist.
        ///
        /// @param files the steps
        /// @param folder the directory
        /// @param deadline the end of the wait
        /// @return the lock
        /// @throws SharedMemoryException if the directory belongs to another user, or its lock cannot be taken
        /// @throws ErrnoException if the directory cannot be made or opened
        static Lock take(RegistryFiles files, String folder, Deadline deadline) throws IOException {
            while (true) {
                files.checkOwned(folder);
                OptionalInt fd = files.open(folder);
                if (fd.isEmpty()) {
                    files.makeFolder(folder);
                } else if (isTaken(files, folder, fd.getAsInt(), deadline)) {
                    return new Lock(files, fd.getAsInt());
                }
            }
        }

        /// Releases the lock.
        @Override
        public void close() {
            try {
                files.unlock(fd);
            } finally {
                files.close(fd);
            }
        }

        private static boolean isTaken(RegistryFiles files, String folder, int fd, Deadline deadline)
                throws IOException {
            boolean taken = false;
            try {
                if (!files.tryLock(fd)) {
                    deadline.await(() -> files.tryLock(fd), folder + " is locked by another process", folder);
                }
                // Checked again, as another file may have had the name before it was opened. Other users cannot
                // replace a directory of this user.
                files.checkOwned(folder);
                taken = files.inode(folder).equals(Optional.of(files.inode(fd)));
            } finally {
                if (!taken) {
                    files.unlock(fd);
                    files.close(fd);
                }
            }
            return taken;
        }
    }

    /// The end of a wait.
    ///
    /// @param patience the maximum time of the wait
    /// @param end the end of the wait, in the time of [System#nanoTime]
    record Deadline(Duration patience, long end) {
        private static final long FIRST_PAUSE = Duration.ofNanos(20_000).toNanos();
        private static final long LONGEST_PAUSE = Duration.ofMillis(1).toNanos();

        /// {@return the deadline of a wait that starts now}
        ///
        /// @param patience the maximum time
        static Deadline in(Duration patience) {
            return new Deadline(patience, System.nanoTime() + patience.toNanos());
        }

        /// Repeats an attempt until it succeeds, since a blocking call could not be ended at the deadline. An interrupt
        /// is restored at the end, as it would end each pause at once.
        ///
        /// @param attempt the attempt; returns whether it succeeded
        /// @param what a description of the wait, for the message of a failure
        /// @param folder the directory that is locked, for the same message
        /// @throws SharedMemoryException if it did not succeed in time
        void await(IoTask<Boolean> attempt, String what, String folder) throws IOException {
            long pause = FIRST_PAUSE;
            boolean interrupted = false;
            try {
                while (!attempt.run()) {
                    if (end - System.nanoTime() <= 0) {
                        throw RegistryFiles.failed(what + " for " + patience.toSeconds()
                                + " seconds; find the process that has it open with `fuser " + folder
                                + "`, and end it if it hangs");
                    }
                    LockSupport.parkNanos(pause);
                    pause = Math.min(2 * pause, LONGEST_PAUSE);
                    interrupted |= Thread.interrupted();
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }
}
