package io.undercroft.mmap.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.mmap.SharedSegment.Holder.State;
import io.undercroft.mmap.internal.Processes.ProcessKey;
import io.undercroft.mmap.internal.HolderRegistry.Attached;
import io.undercroft.mmap.internal.HolderRegistry.Draft;
import io.undercroft.mmap.internal.HolderRegistry.Hold;
import io.undercroft.mmap.internal.HolderRegistry.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/// What is left when a process is killed before each of its steps, and that whoever comes next tidies it up without
/// touching what belongs to those who live.
///
/// Processes are played by registries of this one: locks belong to descriptors, and a killed one closes all of its own
/// and does nothing any more.
@EnabledOnOs(OS.LINUX)
class RegistryStepsTest {
    private static final int NEVER = -1;

    private final Libc libc = Libc.find().orElseThrow();
    private final List<Steps> all = new ArrayList<>();
    private Path home = Path.of("/dev/shm");
    private int processes;
    /// Paths of what belongs to somebody else.
    private final Set<String> foreign = new HashSet<>();

    @BeforeEach
    void makeAHome() throws IOException {
        home = Files.createDirectory(Path.of("/dev/shm/undercroft-test-" + UUID.randomUUID()),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    @AfterEach
    void removeTheHome() throws IOException {
        all.forEach(Steps::kill);
        try (Stream<Path> files = Files.walk(home)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Test
    void creating() throws IOException {
        for (NameLifetime lifetime : NameLifetime.values()) {
            int steps = killedBeforeEachStep((victim, _) -> create(victim, "new", lifetime));
            assertThat(steps).isGreaterThan(10);
        }
    }

    @Test
    void creatingWhereANameIsMadeByTwoSteps() throws IOException {
        killedBeforeEachStep((victim, _) -> {
            victim.steps.isOld = true;
            create(victim, "new", NameLifetime.WITH_LAST_HOLDER);
        });
    }

    @Test
    void attaching() throws IOException {
        killedBeforeEachStep((victim, _) -> attach(victim, "kept"));
    }

    @Test
    void attachingAndLettingGo() throws IOException {
        killedBeforeEachStep((victim, _) -> attach(victim, "kept").release());
    }

    @Test
    void lettingGoAsTheLast() throws IOException {
        for (NameLifetime lifetime : NameLifetime.values()) {
            killedBeforeEachStep((victim, _) -> create(victim, "new", lifetime).release());
        }
    }

    @Test
    void publishingOverASegmentThatOthersHold() throws IOException {
        killedBeforeEachStep((victim, bystander) -> {
            create(bystander, "swapped", NameLifetime.WITH_LAST_HOLDER);
            publish(victim, "swapped", NameLifetime.WITH_LAST_HOLDER);
        });
    }

    @Test
    void publishingOverOnesOwn() throws IOException {
        killedBeforeEachStep((victim, _) -> {
            Hold first = publish(victim, "new", NameLifetime.WITH_CREATOR);
            Hold second = publish(victim, "new", NameLifetime.WITH_LAST_HOLDER);
            first.release();
            second.release();
        });
    }

    @Test
    void unlinking() throws IOException {
        killedBeforeEachStep((victim, bystander) -> {
            create(bystander, "removed", NameLifetime.UNTIL_UNLINKED).release();
            victim.registry.unlink("removed");
        });
    }

    @Test
    void collecting() throws IOException {
        killedBeforeEachStep((victim, _) -> {
            Player dead = player(NEVER);
            create(dead, "dead", NameLifetime.WITH_LAST_HOLDER);
            publish(dead, "dead too", NameLifetime.WITH_CREATOR);
            attach(dead, "kept");
            dead.registry.draft();
            dead.steps.kill();
            victim.registry.gc();
        });
    }

    @Test
    void endingInOrder() throws IOException {
        killedBeforeEachStep((victim, _) -> {
            create(victim, "new", NameLifetime.WITH_CREATOR);
            attach(victim, "kept");
            victim.registry.draft();
            victim.registry.releaseAll();
        });
    }

    @Test
    void takingOverWhatADeadProcessCreated() throws IOException {
        killedBeforeEachStep((victim, _) -> {
            Player dead = player(NEVER);
            create(dead, "new", NameLifetime.WITH_LAST_HOLDER);
            dead.steps.kill();
            create(victim, "new", NameLifetime.WITH_CREATOR);
        });
    }

    @Test
    void whatIsNotOfTheRegistryStays() throws IOException {
        Player player = player(NEVER);
        create(player, "mine", NameLifetime.WITH_LAST_HOLDER);
        Path root = home.resolve("undercroft-" + libc.userId());
        List<Path> strange = List.of(root.resolve("segments/notes"), root.resolve("drafts/notes"),
                root.resolve("processes/notes"), root.resolve("segments/mine/notes"), root.resolve("notes"),
                home.resolve("numpy"));
        for (Path file : strange) {
            Files.writeString(file, "do not remove");
        }
        player.steps.kill();

        Player next = player(NEVER);
        assertThat(next.registry.gc()).as("a segment with a record that makes no sense").isEmpty();
        assertThat(strange).allMatch(Files::exists);
        assertThat(home.resolve("mine")).exists();
        Files.delete(root.resolve("segments/mine/notes"));
        assertThat(next.registry.gc()).extracting(SharedSegment::name).containsExactly("mine");
        assertThat(home.resolve("mine")).doesNotExist();
    }

    @Test
    void aNameThatOthersMadeAnewIsTheirs() throws IOException {
        Player player = player(NEVER);
        Hold hold = create(player, "name", NameLifetime.WITH_CREATOR);
        Files.delete(home.resolve("name"));
        Files.writeString(home.resolve("name"), "theirs");
        assertThat(player.registry.list()).isEmpty();
        hold.release();

        assertThat(home.resolve("name")).hasContent("theirs");
        Player next = player(NEVER);
        assertThat(next.registry.gc()).isEmpty();
        assertThat(home.resolve("name")).hasContent("theirs");
        assertThat(home.toFile().list()).containsExactly("name");
    }

    @Test
    void noNameIsRemovedForTheDeadWhereItMayMeanAnotherFileOfTheSameNumber() throws IOException {
        Player dead = player(NEVER);
        create(dead, "name", NameLifetime.WITH_LAST_HOLDER);
        attach(dead, "name");
        dead.steps.kill();
        Player next = player(NEVER);
        next.steps.reusesInodes = true;

        assertThat(next.registry.gc()).isEmpty();
        assertThat(home.toFile().list()).containsExactly("name");
        Attached attached = next.registry.attach("name", LinuxConstants.O_RDWR, false);
        next.steps.close(attached.fd());
        assertThat(attached.hold()).isEmpty();
        create(next, "mine", NameLifetime.WITH_LAST_HOLDER).release();
        assertThat(home.toFile().list()).as("names of the living go").containsExactly("name");
    }

    @Test
    void filesInMemoryKeepTheirNumbersAndOthersDoNot() throws IOException {
        RegistryFiles files = new RegistryFiles(libc);
        assertThat(files.reusesInodes("/dev/shm")).isFalse();
        assertThat(files.reusesInodes("/proc")).isTrue();
    }

    @Test
    void aRegistryThatIsClearedAwayIsMadeAnew() throws IOException {
        Player player = player(NEVER);
        Hold lost = create(player, "lost", NameLifetime.WITH_LAST_HOLDER);
        Path root = home.resolve("undercroft-" + libc.userId());
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
        create(player, "new", NameLifetime.WITH_LAST_HOLDER);

        assertThat(player(NEVER).registry.gc()).as("the process is seen alive").isEmpty();
        lost.release();
        assertThat(home.resolve("lost")).as("nobody knows how long it was to last").exists();
        assertThat(player.registry.list()).extracting(SharedSegment::name).containsExactly("new");
    }

    @Test
    void aNameIsInUseAsLongAsOneHolderLives() throws IOException {
        Player one = player(NEVER);
        Player two = player(NEVER);
        create(one, "name", NameLifetime.WITH_LAST_HOLDER);
        Hold held = attach(two, "name");
        one.steps.kill();
        Player three = player(NEVER);
        assertThatThrownBy(() -> create(three, "name", NameLifetime.WITH_CREATOR)).isInstanceOfSatisfying(
                ErrnoException.class, e -> assertThat(e.errno()).isEqualTo(ErrnoException.EEXIST));

        assertThat(three.registry.list().getFirst().holders()).extracting(SharedSegment.Holder::state)
                .containsExactlyInAnyOrder(State.DEAD, State.ALIVE);
        held.release();
        assertThat(home.resolve("name")).as("the last one is out").doesNotExist();
        three.registry.gc();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void aLockThatSomebodyKeepsIsNotWaitedForWithoutEnd() throws IOException {
        Player player = player(NEVER);
        Hold hold = create(player, "name", NameLifetime.WITH_LAST_HOLDER);
        Path root = home.resolve("undercroft-" + libc.userId());
        try (HolderRegistry.Lock _ = lock(player.steps)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> player(NEVER).registry.list()).isInstanceOf(SharedMemoryException.class)
                    .hasMessageContaining(root + " is locked by another process")
                    .hasMessageContaining("find the process that has it open with `fuser " + root + "`");
            assertThat(Thread.interrupted()).as("the interrupt is kept for later").isTrue();
        }
        hold.release();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void twoCopiesOfTheLibraryInOneProcessDoNotTouchWhatTheOtherHas() throws IOException {
        Player one = player(NEVER, 1);
        Player two = player(NEVER, 1);
        Hold first = create(one, "first", NameLifetime.WITH_LAST_HOLDER);
        Hold second = create(two, "second", NameLifetime.WITH_LAST_HOLDER);
        List<Hold> both = List.of(attach(one, "second"), attach(two, "first"));
        Draft draftOfOne = one.registry.draft();
        Draft draftOfTwo = two.registry.draft();
        draftOfOne.close();
        both.forEach(Hold::release);
        second.release();
        assertThat(player(NEVER).registry.gc()).isEmpty();
        draftOfTwo.close();
        assertThat(player(NEVER).registry.gc()).isEmpty();
        assertThat(one.registry.list()).singleElement()
                .satisfies(segment -> assertThat(segment.holders()).extracting(SharedSegment.Holder::state)
                        .containsExactly(State.ALIVE));
        Hold again = create(two, "again", NameLifetime.WITH_CREATOR);
        first.release();
        assertThat(player(NEVER).registry.gc()).isEmpty();
        assertThat(home.resolve("again")).exists();
        again.release();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void aDraftThatIsStillWrittenWhenItsProcessEndsKeepsItsDescriptor() throws IOException {
        Player player = player(NEVER);
        Draft draft = player.registry.draft();
        long inode = libc.identity(draft.descriptor()).inode();
        player.registry.releaseAll();

        assertThat(home.toFile().list()).isEmpty();
        assertThat(libc.identity(draft.descriptor()).inode()).isEqualTo(inode);
        draft.close();
        assertThat(libc.identity(draft.descriptor()).inode()).isEqualTo(inode);
    }

    @Test
    void whatCannotBeLetGoOfNowIsLetGoOfWithTheNextLock() throws IOException {
        Player player = player(NEVER);
        Hold hold = create(player, "name", NameLifetime.WITH_LAST_HOLDER);
        create(player, "kept", NameLifetime.UNTIL_UNLINKED);
        Draft draft = player.registry.draft();
        try (HolderRegistry.Lock _ = lock(player.steps)) {
            hold.release();
            draft.close();
            assertThat(home.resolve("name")).exists();
        }
        assertThat(player.registry.list()).extracting(SharedSegment::name).containsExactly("kept");
        assertThat(home.resolve("name")).doesNotExist();
        assertThat(root().resolve("drafts")).isEmptyDirectory();
        player.registry.unlink("kept");
        player.registry.releaseAll();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void whatHasItsNameIsItsCreatorsWhateverFailsThen() throws IOException {
        Player player = player(NEVER);
        Hold old = publish(player, "name", NameLifetime.WITH_CREATOR);
        player.steps.failsOnceNamed = true;
        Hold hold = publish(player, "name", NameLifetime.WITH_LAST_HOLDER);
        player.steps.fails = false;

        assertThat(player.registry.list().getFirst().holders()).hasSize(1);
        old.release();
        assertThat(home.resolve("name")).exists();
        hold.release();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void threadsWaitForALockTogetherAndNotOneAfterTheOther() throws Exception {
        Player player = player(NEVER);
        create(player, "name", NameLifetime.WITH_CREATOR);
        // Longer than the test may take: all of them start to wait while the first one still does.
        player.steps.patience = Duration.ofHours(1);
        player.steps.deadlines = new CountDownLatch(8);
        try (ExecutorService pool = Executors.newFixedThreadPool(8)) {
            List<CompletableFuture<Void>> threads;
            try (HolderRegistry.Lock _ = lock(player.steps)) {
                threads = Stream.generate(() -> CompletableFuture.runAsync(
                        () -> assertThatCode(player.registry::list).doesNotThrowAnyException(), pool)).limit(8)
                        .toList();
                player.steps.deadlines.await();
                assertThat(threads).noneMatch(CompletableFuture::isDone);
            }
            threads.forEach(CompletableFuture::join);
        }
    }

    @Test
    void theWaitForALockEndsAndSaysWhoMayHaveIt() throws Exception {
        Player player = player(NEVER);
        create(player, "name", NameLifetime.WITH_CREATOR);
        try (HolderRegistry.Lock _ = lock(player.steps); ExecutorService pool = Executors.newFixedThreadPool(2)) {
            Stream.generate(() -> CompletableFuture.runAsync(() -> assertThatThrownBy(player.registry::list)
                    .isInstanceOf(SharedMemoryException.class).hasMessageContaining("fuser"), pool)).limit(2).toList()
                    .forEach(CompletableFuture::join);
        }
    }

    @Test
    void theEndOfAProcessDoesNotWaitForItsThreads() throws Exception {
        Player player = player(NEVER);
        create(player, "name", NameLifetime.WITH_CREATOR);
        player.steps.patience = Duration.ofHours(1);
        try (ExecutorService pool = Executors.newSingleThreadExecutor()) {
            CompletableFuture<?> thread;
            try (HolderRegistry.Lock _ = lock(player.steps)) {
                player.steps.waits = new CountDownLatch(1);
                thread = CompletableFuture.supplyAsync(() -> assertThatCode(player.registry::list), pool);
                player.steps.waits.await();
                assertTimeoutPreemptively(Duration.ofMinutes(5), player.registry::releaseAll);
                assertThat(thread).isNotDone();
            }
            thread.join();
        }
        player.registry.list();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void aDirectoryThatIsNotOursBeforeItIsLockedIsNotUsed() throws IOException {
        Player player = player(NEVER);
        create(player, "name", NameLifetime.WITH_CREATOR);
        player.steps.beforeLock = () -> Files.setPosixFilePermissions(root(),
                PosixFilePermissions.fromString("rwxrwxrwx"));
        assertThatThrownBy(player.registry::list).isInstanceOf(SharedMemoryException.class)
                .hasMessageContaining("may be written by others");
        Files.setPosixFilePermissions(root(), PosixFilePermissions.fromString("rwx------"));
        player.steps.beforeLock = () -> {};
        assertThat(player.registry.list()).as("it is not left locked").hasSize(1);
    }

    @Test
    void aRegistryWhoseNameSomebodyElseHasIsMadeUnderAnotherNameThatAllProcessesFind() throws IOException {
        Files.createDirectory(root());
        foreign.add(root().toString());
        Player player = player(NEVER);
        Hold hold = create(player, "name", NameLifetime.WITH_LAST_HOLDER);
        Player other = player(NEVER);
        assertThat(other.registry.list()).singleElement()
                .satisfies(segment -> assertThat(segment.holders()).hasSize(1));
        Hold second = attach(other, "name");
        hold.release();
        assertThat(home.resolve("name")).exists();
        second.release();
        assertThat(home.toFile().list()).containsExactly(root().getFileName().toString());
        assertThat(root()).isEmptyDirectory();
    }

    @Test
    void whoeverHoldsSomethingInTheOtherRegistryKeepsItWhenTheNameIsFreeAgain() throws IOException {
        Files.createDirectory(root());
        foreign.add(root().toString());
        Player player = player(NEVER);
        Hold hold = create(player, "name", NameLifetime.WITH_CREATOR);
        foreign.clear();
        Files.delete(root());
        Player other = player(NEVER);
        attach(other, "name").release();
        assertThat(other.registry.list()).hasSize(1);
        hold.release();
        assertThat(home.toFile().list()).isEmpty();
        create(other, "again", NameLifetime.WITH_CREATOR).release();
    }

    @Test
    void whatSomebodyElseMadeLikeTheOtherRegistryIsNotTaken() throws IOException {
        Files.createDirectory(root());
        Path decoy = Files.createDirectory(home.resolve(root().getFileName() + "-0"));
        foreign.addAll(List.of(root().toString(), decoy.toString()));
        Hold hold = create(player(NEVER), "name", NameLifetime.WITH_CREATOR);
        assertThat(decoy).isEmptyDirectory();
        assertThat(root()).isEmptyDirectory();
        hold.release();
        assertThat(home.toFile().list()).hasSize(2);
    }

    @Test
    void killedBetweenTwoStepsInTheOtherRegistry() throws IOException {
        Files.createDirectory(root());
        foreign.add(root().toString());
        int steps = killedBeforeEachStep((victim, _) -> create(victim, "new", NameLifetime.WITH_LAST_HOLDER).release());
        assertThat(steps).isGreaterThan(10);
    }

    @Test
    void aNameThatNobodyHoldsIsRemovedIfThatIsAskedForAndNoOther() throws IOException {
        Player dead = player(NEVER);
        create(dead, "dead", NameLifetime.UNTIL_UNLINKED);
        dead.steps.kill();
        Player player = player(NEVER);
        create(player, "left", NameLifetime.UNTIL_UNLINKED).release();
        Hold held = create(player, "held", NameLifetime.UNTIL_UNLINKED);
        create(player, "attached", NameLifetime.UNTIL_UNLINKED).release();
        Hold attached = attach(player(NEVER), "attached");
        Player other = player(NEVER);
        assertThat(other.registry.gc()).isEmpty();
        for (String name : List.of("held", "attached", "nothing")) {
            assertThat(other.registry.unlinkIfUnheld(name)).as(name).isEmpty();
        }
        for (String name : List.of("dead", "left")) {
            assertThat(other.registry.unlinkIfUnheld(name)).as(name)
                    .hasValueSatisfying(removed -> assertThat(removed.name()).isEqualTo(name));
            assertThat(home.resolve(name)).doesNotExist();
        }
        held.release();
        attached.release();
        assertThat(other.registry.list()).extracting(SharedSegment::name).containsExactly("attached", "held");
        assertThat(other.registry.unlinkIfUnheld("held")).isPresent();
        assertThat(other.registry.unlinkIfUnheld("attached")).isPresent();
        assertThat(home.toFile().list()).isEmpty();
    }

    @Test
    void removingWhatNobodyHoldsKilledBeforeEachStep() throws IOException {
        killedBeforeEachStep((victim, _) -> {
            create(victim, "new", NameLifetime.UNTIL_UNLINKED).release();
            victim.registry.unlinkIfUnheld("new");
        });
    }

    @Test
    void aSegmentOfSomebodyElseIsAttachedOnlyIfThatIsAskedFor() throws IOException {
        Player player = player(NEVER);
        Files.write(home.resolve("name"), new byte[10]);
        player.steps.trustsNobody = true;
        assertThatThrownBy(() -> player.registry.attach("name", LinuxConstants.O_RDWR, false))
                .isInstanceOf(SharedMemoryException.class);
        Attached attached = player.registry.attach("name", LinuxConstants.O_RDWR, true);
        player.steps.close(attached.fd());
        assertThat(player.steps.open).as("left open").isEmpty();
    }

    @Test
    void aProcessWithTheNumberAndTheStartOfADeadOneIsNotTakenForIt() throws IOException {
        Player dead = player(NEVER, 7);
        create(dead, "name", NameLifetime.WITH_CREATOR);
        create(dead, "kept", NameLifetime.UNTIL_UNLINKED);
        dead.steps.kill();
        Player same = player(NEVER, 7);
        Hold hold = create(same, "mine", NameLifetime.WITH_CREATOR);
        assertThat(home.resolve("name")).doesNotExist();
        assertThat(same.registry.list()).extracting(SharedSegment::name).containsExactly("kept", "mine");
        assertThat(same.registry.list().getFirst().isHeld()).isFalse();
        assertThat(same.registry.unlinkIfUnheld("kept")).isPresent();
        hold.release();
        assertThat(home.toFile().list()).isEmpty();
    }

    /// A copy of the descriptor is what a child has that was forked meanwhile.
    @Test
    void aLockIsGivenBackAlsoForChildrenThatWereForkedMeanwhile() throws Throwable {
        Player player = player(NEVER);
        create(player, "name", NameLifetime.WITH_CREATOR);
        Player other = player(NEVER);
        int copy;
        try (HolderRegistry.Lock _ = lock(other.steps)) {
            int fd = other.steps.open.iterator().next();
            copy = (int) NativeFunction.of("int dup(int fd)").call(fd);
        }
        try {
            assertThat(player.registry.list()).hasSize(1);
        } finally {
            libc.close(copy);
        }
    }

    private Path root() {
        return home.resolve("undercroft-" + libc.userId());
    }

    private HolderRegistry.Lock lock(RegistryFiles files) throws IOException {
        return HolderRegistry.Lock.take(files, root().toString(), Deadline.in(files.patience()));
    }

    /// A process that is played.
    private record Player(HolderRegistry registry, Steps steps) {}

    /// What the process does that is going to be killed, next to one that lives.
    @FunctionalInterface
    private interface Scene {
        void play(Player victim, Player bystander) throws IOException;
    }

    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    /// Plays a scene again and again, killed one step later each time, until it is played to its end. Each time there
    /// is one who holds a segment through all of it, and collects afterwards.
    private int killedBeforeEachStep(Scene scene) throws IOException {
        for (int step = 0;; step++) {
            Player bystander = player(NEVER);
            Hold kept = create(bystander, "kept", NameLifetime.WITH_LAST_HOLDER);
            long inode = libc.status(home + "/kept").orElseThrow().identity().inode();
            Player victim = player(step);
            boolean killed = false;
            try {
                scene.play(victim, bystander);
            } catch (Killed _) {
                killed = true;
            }
            victim.steps.kill();

            String state = "killed before step " + step;
            assertThat(bystander.registry.list()).as(state).filteredOn(s -> s.name().equals("kept")).singleElement()
                    .satisfies(s -> assertThat(s.holders()).anyMatch(h -> h.state() == State.ALIVE));
            Player other = player(NEVER);
            other.registry.gc();
            other.registry.gc();
            assertThat(libc.status(home + "/kept").map(status -> status.identity().inode())).as(state).contains(inode);
            for (SharedSegment segment : bystander.registry.list()) {
                assertThat(segment.holders()).as(state).noneMatch(h -> h.state() == State.DEAD);
            }
            Hold mine = create(other, "mine", NameLifetime.WITH_LAST_HOLDER);
            kept.release();
            assertThat(home.resolve("kept")).as(state).doesNotExist();
            mine.release();
            // Names that last until somebody removes them.
            bystander.registry.unlink("new");
            bystander.registry.unlink("removed");
            bystander.registry.releaseAll();
            assertThat(home.toFile().list()).as(state).hasSize(foreign.size());
            if (!killed) {
                return step;
            }
        }
    }

    private Player player(int lastStep) {
        return player(lastStep, ++processes);
    }

    private Player player(int lastStep, int start) {
        Steps steps = new Steps(lastStep);
        all.add(steps);
        ProcessKey self = new ProcessKey(ProcessHandle.current().pid(), start * 1000L, 1);
        return new Player(new HolderRegistry(steps, home.toString(), libc.userId(), self), steps);
    }

    private Hold create(Player player, String name, NameLifetime lifetime) throws IOException {
        try (Draft draft = player.registry.draft(name)) {
            libc.allocate(draft.descriptor(), 0, 100);
            return draft.create(name, lifetime);
        }
    }

    private Hold publish(Player player, String name, NameLifetime lifetime) throws IOException {
        try (Draft draft = player.registry.draft()) {
            libc.allocate(draft.descriptor(), 0, 100);
            return draft.publish(name, lifetime);
        }
    }

    private Hold attach(Player player, String name) throws IOException {
        Attached attached = player.registry.attach(name, LinuxConstants.O_RDWR, false);
        player.steps.close(attached.fd());
        return attached.hold().orElseThrow();
    }

    /// Steps in a directory of the test's own, which end before a certain one.
    private final class Steps extends RegistryFiles {
        private final Set<Integer> open = new HashSet<>();
        private int left;
        private boolean isDead;
        private boolean isOld;
        private boolean reusesInodes;
        private boolean failsOnceNamed;
        private boolean trustsNobody;
        private boolean fails;
        private Duration patience = Duration.ofMillis(50);
        private CountDownLatch waits = new CountDownLatch(0);
        private CountDownLatch deadlines = new CountDownLatch(0);
        private Preparation beforeLock = () -> {};

        @FunctionalInterface
        private interface Preparation {
            void run() throws IOException;
        }

        Steps(int left) {
            super(libc);
            this.left = left;
        }

        /// What the kernel does.
        void kill() {
            isDead = true;
            open.forEach(libc::close);
            open.clear();
        }

        @Override
        boolean isOurs(String path) throws IOException {
            return !foreign.contains(path) && super.isOurs(path);
        }

        @Override
        boolean isForeign(String path) throws IOException {
            return foreign.contains(path) || super.isForeign(path);
        }

        @Override
        void checkSegment(int fd, boolean ofAnybody) throws IOException {
            super.checkSegment(fd, ofAnybody);
            if (trustsNobody && !ofAnybody) {
                throw foreign(1234, libc.userId());
            }
        }

        @Override
        boolean reusesInodes(String folder) {
            return reusesInodes;
        }

        @Override
        Duration patience() {
            deadlines.countDown();
            return patience;
        }

        @Override
        Duration patienceAtTheEnd() {
            return Duration.ofMillis(50);
        }

        private void step() {
            if (left == 0) {
                kill();
            }
            if (isDead) {
                throw new Killed();
            }
            left--;
        }

        private int opened(int fd) {
            open.add(fd);
            return fd;
        }

        @Override
        int create(String path) throws ErrnoException {
            step();
            return opened(super.create(path));
        }

        @Override
        void touch(String path) throws ErrnoException {
            close(create(path));
        }

        @Override
        OptionalInt open(String path) throws ErrnoException {
            step();
            try {
                beforeLock.run();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            OptionalInt fd = super.open(path);
            fd.ifPresent(open::add);
            return fd;
        }

        @Override
        int openSegment(String name, int flags) throws ErrnoException {
            step();
            return opened(libc.open(home + "/" + name, flags, 0));
        }

        @Override
        void close(int fd) {
            if (open.remove(fd)) {
                super.close(fd);
            }
        }

        @Override
        boolean tryLock(int fd) throws ErrnoException {
            step();
            boolean locked = super.tryLock(fd);
            if (!locked) {
                waits.countDown();
            }
            return locked;
        }

        @Override
        void makeFolder(String path) throws ErrnoException {
            step();
            super.makeFolder(path);
        }

        @Override
        void removeFolder(String path) throws ErrnoException {
            step();
            super.removeFolder(path);
        }

        @Override
        boolean remove(String path) throws ErrnoException {
            step();
            return super.remove(path);
        }

        @Override
        void renameIfFree(String path, String name) throws ErrnoException {
            step();
            if (isOld) {
                libc.link(path, name);
                step();
                libc.unlink(path);
            } else {
                super.renameIfFree(path, name);
            }
        }

        @Override
        void rename(String path, String name) throws ErrnoException {
            step();
            super.rename(path, name);
            fails = failsOnceNamed;
        }

        @Override
        Optional<Long> inode(String path) throws ErrnoException {
            step();
            return super.inode(path);
        }

        @Override
        List<String> list(String path) throws IOException {
            step();
            if (fails) {
                throw new ErrnoException("open", ErrnoException.EMFILE);
            }
            return super.list(path);
        }
    }
}
