package io.undercroft.properties.processes;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.mmap.SharedTensorHandle;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Follower;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/// One process of a [Soak]: shares memory with the others until it is killed, and tells line by line what it does.
///
/// | line | says |
/// |---|---|
/// | `begin WHAT` | it begins something |
/// | `end WHAT` | that came to its end |
/// | `refused WHAT REASON` | instead it was refused, with the type for it |
/// | `torn WHAT …` | it saw what must not be seen |
/// | `failed WHAT …` | an error of another type came |
/// | `offer NUMBER TOKEN` | another process is to have a tensor of that number |
///
/// It is told nothing but offers of others, in lines `NUMBER TOKEN`, and goes when nobody tells it anything any more.
final class SoakProcess {
    private static final int HOLDS = 4;
    private static final int PAUSE_MILLIS = 100;
    private static final List<NameLifetime> LIFETIMES = List.of(NameLifetime.values());

    private final String prefix;
    private final int slot;
    private final List<SoakSegment> segments;
    private final Random random;
    private final Map<SoakSegment, Hold> holds = new HashMap<>();
    private final Deque<Tensor> offered = new ArrayDeque<>();
    private final Queue<String> offers = new ConcurrentLinkedQueue<>();
    private final Map<NameLifetime, PublishedCheckpoint> published = new EnumMap<>(NameLifetime.class);
    private final Map<NameLifetime, Follower> followed = new EnumMap<>(NameLifetime.class);
    private final Map<NameLifetime, Long> seen = new EnumMap<>(NameLifetime.class);
    private final int processes;
    /// What this process has published under the name that others sweep, or null.
    private @Nullable PublishedCheckpoint own;
    private long ownNumber;

    /// A segment that this process has, and the number that it wrote into it last.
    private record Hold(SharedMemory memory, boolean isCreator, long written) {}

    /// Something that must not be seen was seen.
    private static final class TornException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        TornException(String what) {
            super(what);
        }
    }

    /// Something to do.
    @FunctionalInterface
    private interface Action {
        void run() throws IOException;
    }

    private SoakProcess(String prefix, int slot, int processes, long seed) {
        this.prefix = prefix;
        this.slot = slot;
        this.processes = processes;
        this.segments = SoakSegment.all(prefix, processes);
        this.random = new Random(seed);
    }

    /// {@return the name under which a state is published that lasts so long}
    static String publishedName(String prefix, NameLifetime lifetime) {
        return prefix + "published-" + lifetime;
    }

    /// {@return the name under which one process publishes, and which all remove when nobody holds it}
    static String sweptName(String prefix, int slot) {
        return prefix + "swept" + slot;
    }

    /// Lives until it is killed.
    ///
    /// @param arguments what names begin with, which of the processes this is, how many there are, the seed
    public static void main(String... arguments) throws InterruptedException {
        var process = new SoakProcess(arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]),
                Long.parseLong(arguments[3]));
        Thread.ofPlatform().daemon().start(process::listen);
        process.live();
    }

    private void listen() {
        try (var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            in.lines().forEach(offers::add);
        } catch (IOException | UncheckedIOException e) {
            say("failed listening " + e);
        }
        Runtime.getRuntime().halt(0);
    }

    private void live() throws InterruptedException {
        while (random.nextInt(500) != 0) {
            act();
            Thread.sleep(random.nextInt(PAUSE_MILLIS));
        }
    }

    private void act() {
        switch (random.nextInt(15)) {
            case 0, 1, 2 -> hold(segments.get(random.nextInt(segments.size())));
            case 3 -> letGo();
            case 4 -> unlink(segments.get(random.nextInt(segments.size())));
            case 5 -> attempt("offer", this::offer);
            case 6 -> take();
            case 7 -> attempt("publish", this::publish);
            case 8 -> attempt("read", this::read);
            case 9, 10 -> attempt("follow", this::follow);
            case 11 -> attempt("publish-own", this::publishOwn);
            case 12 -> attempt("check-own", this::checkOwn);
            case 13 -> attempt("sweep", this::sweep);
            default -> lookAround();
        }
    }

    private void attempt(String what, Action action) {
        say("begin " + what);
        try {
            action.run();
            say("end " + what);
        } catch (IOException | RuntimeException | Error e) {
            say(told(what, e));
        }
    }

    private static String told(String what, Throwable e) {
        return switch (e) {
            case SharedMemoryException refused -> "refused " + what + " " + refused.reason() + " " + e.getMessage();
            case TornException _,FormatException _ -> "torn " + what + " " + e;
            // Allocators may throw unchecked exceptions only.
            case Throwable _ when e.getCause() instanceof SharedMemoryException cause -> told(what, cause);
            default -> "failed " + what + " " + traced(e);
        };
    }

    private static String traced(Throwable e) {
        return e + " at " + List.of(e.getStackTrace()).subList(0, Math.min(6, e.getStackTrace().length));
    }

    @SuppressWarnings("SystemOut")
    private static synchronized void say(String line) {
        System.out.println(line.replace('\n', ' '));
    }

    // ---- segments

    private void hold(SoakSegment what) {
        if (holds.containsKey(what)) {
            attempt("use", () -> use(what));
        } else if (random.nextBoolean()) {
            attempt("create", () -> use(what, SharedMemory.create(what.name(), what.nbytes(), what.lifetime()), true));
        } else {
            attempt("attach", () -> use(what, SharedMemory.attach(what.name()), false));
        }
    }

    private void use(SoakSegment what, SharedMemory memory, boolean isCreator) throws IOException {
        if (memory.nbytes() != what.nbytes()) {
            throw new TornException(memory + " is to have " + what.nbytes() + " bytes");
        }
        holds.put(what, new Hold(memory, isCreator, write(memory)));
        use(what);
        if (holds.size() > HOLDS) {
            letGo();
        }
    }

    /// Nobody else writes the number of this process, and a name that stays means the memory that is held.
    private void use(SoakSegment what) throws IOException {
        Hold hold = holds.get(what);
        check(hold.memory(), hold);
        if (what.staysFor(hold.isCreator())) {
            try (SharedMemory again = SharedMemory.attach(what.name())) {
                check(again, hold);
            } catch (SharedMemoryException e) {
                if (e.reason() == Reason.NOT_FOUND) {
                    throw new TornException(hold.memory() + " has lost its name");
                }
                throw e;
            }
        }
        holds.put(what, new Hold(hold.memory(), hold.isCreator(), write(hold.memory())));
    }

    private void check(SharedMemory memory, Hold hold) {
        long found = memory.segment().getAtIndex(JAVA_LONG_UNALIGNED, slot);
        if (found != hold.written()) {
            throw new TornException(memory + " has " + found + " where " + hold.written() + " was written");
        }
    }

    private long write(SharedMemory memory) {
        long number = random.nextLong();
        memory.segment().setAtIndex(JAVA_LONG_UNALIGNED, slot, number);
        return number;
    }

    private void letGo() {
        if (!holds.isEmpty()) {
            SoakSegment what = new ArrayList<>(holds.keySet()).get(random.nextInt(holds.size()));
            attempt("close", holds.remove(what).memory()::close);
        }
    }

    private void unlink(SoakSegment what) {
        if (what.fate() == SoakSegment.Fate.UNLINKED) {
            attempt("unlink", () -> SharedMemory.unlink(what.name()));
        }
    }

    // ---- handles

    private void offer() throws IOException {
        long number = random.nextLong();
        Tensor filled = Tensor.full(DType.INT64, number, 2 + random.nextInt(5000));
        Tensor tensor = random.nextBoolean()
                ? filled.shareMemory()
                : filled.copy(SharedMemory.anonymousAllocator());
        offered.add(tensor);
        say("offer " + number + " " + SharedTensorHandle.of(tensor.narrow(0, 1, tensor.numel() - 1)));
        if (offered.size() > HOLDS) {
            offered.remove().storage().release();
        }
    }

    private void take() {
        String offer = offers.poll();
        if (offer != null) {
            int space = offer.indexOf(' ');
            attempt("take", () -> take(Long.parseLong(offer.substring(0, space)), offer.substring(space + 1)));
        }
    }

    private static void take(long number, String token) throws IOException {
        Tensor tensor = SharedTensorHandle.parse(token).open();
        try {
            if (!NumberedState.carries(tensor.storage().segment(), number)) {
                throw new TornException("a tensor that was handed over is not all " + number);
            }
        } finally {
            tensor.storage().release();
        }
    }

    // ---- published states

    private NameLifetime someLifespan() {
        return LIFETIMES.get(random.nextInt(LIFETIMES.size()));
    }

    private void publish() throws IOException {
        NameLifetime lifetime = someLifespan();
        PublishedCheckpoint made = PublishedCheckpoint.publish(publishedName(prefix, lifetime),
                NumberedState.of(random.nextLong()),
                SaveOptions.defaults(), lifetime);
        PublishedCheckpoint before = published.put(lifetime, made);
        if (before != null) {
            before.close();
        }
    }

    private void read() throws IOException {
        NameLifetime lifetime = someLifespan();
        try (Checkpoint checkpoint = PublishedCheckpoint.attach(publishedName(prefix, lifetime))) {
            check(checkpoint);
        } catch (SharedMemoryException e) {
            throw missing(lifetime, e);
        }
    }

    private void follow() throws IOException {
        NameLifetime lifetime = someLifespan();
        Follower follower = followed.get(lifetime);
        if (follower == null) {
            try {
                followed.put(lifetime, PublishedCheckpoint.follow(publishedName(prefix, lifetime)));
            } catch (SharedMemoryException e) {
                throw missing(lifetime, e);
            }
            return;
        }
        try (Follower.Lease lease = follower.lease()) {
            check(lease.checkpoint());
            Long number = (Long) ((Map<?, ?>) lease.checkpoint().state()).get("number");
            Long before = seen.put(lifetime, number);
            if (before != null && !before.equals(number)) {
                say("end swap");
            }
        }
    }

    /// What lasts until it is unlinked was published before the processes began, and nobody unlinks it.
    private static IOException missing(NameLifetime lifetime, SharedMemoryException e) {
        if (lifetime == NameLifetime.UNTIL_UNLINKED && e.reason() == Reason.NOT_FOUND) {
            throw new TornException("between two versions there was none");
        }
        return e;
    }

    private static void check(Checkpoint checkpoint) throws IOException {
        String fault = NumberedState.faultOf(checkpoint);
        if (!fault.isEmpty()) {
            throw new TornException(fault);
        }
    }

    // ---- names that are removed when nobody holds them

    /// Publishes the next version, and then releases the one before or, now and then, of both.
    private void publishOwn() throws IOException {
        PublishedCheckpoint before = own;
        long number = random.nextLong();
        own = PublishedCheckpoint.publish(sweptName(prefix, slot), NumberedState.of(number), SaveOptions.defaults());
        ownNumber = number;
        if (before != null) {
            before.close();
        }
        checkOwn();
        if (random.nextInt(4) == 0) {
            own.close();
            own = null;
        }
    }

    /// What a living process holds is not swept, whoever sweeps in whatever moment.
    private void checkOwn() throws IOException {
        if (own == null) {
            return;
        }
        try (Checkpoint checkpoint = PublishedCheckpoint.attach(sweptName(prefix, slot))) {
            check(checkpoint);
            if (!((Map<?, ?>) checkpoint.state()).get("number").equals(ownNumber)) {
                throw new TornException("under the own name is another version than the own one");
            }
        } catch (SharedMemoryException e) {
            if (e.reason() == Reason.NOT_FOUND) {
                throw new TornException("a name that its publisher holds was swept");
            }
            throw e;
        }
    }

    /// Also while this process reads a version, which stays readable whatever becomes of its name.
    private void sweep() throws IOException {
        String name = sweptName(prefix, random.nextInt(processes));
        if (random.nextBoolean()) {
            SharedMemory.unlinkIfUnheld(name).ifPresent(_ -> say("end swept"));
            return;
        }
        try (Checkpoint checkpoint = PublishedCheckpoint.attach(name)) {
            SharedMemory.unlinkIfUnheld(name);
            check(checkpoint);
        }
    }

    // ---- the registry

    private void lookAround() {
        if (random.nextInt(4) == 0) {
            attempt("gc", SharedMemory::gc);
        } else {
            attempt("list", this::list);
        }
    }

    /// What this process holds is there.
    private void list() throws IOException {
        List<SharedSegment> listed = SharedMemory.list();
        long pid = ProcessHandle.current().pid();
        holds.forEach((what, hold) -> {
            boolean isThere = listed.stream().anyMatch(
                    segment -> segment.name().equals(what.name()) && segment.nbytes() == what.nbytes() && segment
                            .lifetime() == what.lifetime() && segment.holders().stream().anyMatch(
                                    holder -> holder.pid() == pid));
            if (what.staysFor(hold.isCreator()) && !isThere) {
                throw new TornException(hold.memory() + " is not listed as held by " + pid);
            }
        });
    }
}
