package io.undercroft.properties.processes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryDraft;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.properties.ChainModel;
import io.undercroft.properties.states.JavaSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.ActionChainArbitrary;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/// Segments of shared memory, each with what it should be: some bytes that are all the same, and a name for as long
/// as its [NameLifetime] says. One process plays all holders.
final class SharedMemoryModel extends ChainModel {
    private static final Path HOME = Path.of("/dev/shm");
    private static final int MAX_SIZE = 9000;

    private final String prefix = "undercroft-law-" + Long.toString(ThreadLocalRandom.current().nextLong(), 36) + "-";
    private final List<String> names = Stream.of("a", "b", "c").map(prefix::concat).toList();
    private final Map<String, Segment> named = new HashMap<>();
    private final List<Holder> holders = new ArrayList<>();

    /// What a segment should be.
    private static final class Segment {
        final String name;
        final int nbytes;
        final NameLifetime lifetime;
        byte value;

        Segment(String name, int nbytes, NameLifetime lifetime) {
            this.name = name;
            this.nbytes = nbytes;
            this.lifetime = lifetime;
        }
    }

    /// A mapping of a segment, and how often it is to be closed.
    private static final class Holder {
        final SharedMemory memory;
        final Segment segment;
        final boolean isCreator;
        int count = 1;

        Holder(SharedMemory memory, Segment segment, boolean isCreator) {
            this.memory = memory;
            this.segment = segment;
            this.isCreator = isCreator;
        }

        boolean isOpen() {
            return count > 0;
        }
    }

    /// {@return whatever holders of shared memory can do, one thing after the other}
    static ActionChainArbitrary<SharedMemoryModel> chains() {
        return ActionChain.startWith(SharedMemoryModel::new)
                .withAction(2, ofName(SharedMemoryModel::create))
                .withAction(ofName(SharedMemoryModel::publish))
                .withAction(2, ofName(SharedMemoryModel::attach))
                .withAction(ofName(SharedMemoryModel::unlink))
                .withAction(2, ofHolder(SharedMemoryModel::close))
                .withAction(ofHolder(SharedMemoryModel::retain))
                .withAction(ofHolder(SharedMemoryModel::write))
                .withAction(action(SharedMemoryModel::list))
                .withAction(action(SharedMemoryModel::collect));
    }

    private static Action.Independent<SharedMemoryModel> ofName(StepWith<SharedMemoryModel, String> step) {
        return action(model -> step.take(model, model.choices().of(model.names)));
    }

    /// {@return an action of one of the holders, of which there is one from then on}
    private static Action.Independent<SharedMemoryModel> ofHolder(BiConsumer<SharedMemoryModel, Holder> step) {
        return action(model -> {
            if (model.holders.isEmpty()) {
                model.create(model.names.getFirst());
            }
            if (!model.holders.isEmpty()) {
                step.accept(model, model.choices().of(model.holders));
            }
        });
    }

    /// Compares everything with what it should be.
    void check() throws IOException {
        holders.forEach(SharedMemoryModel::compare);
        assertThat(namesThatAreThere()).isEqualTo(named.keySet());
    }

    private void create(String name) throws IOException {
        NameLifetime lifetime = choices().of(List.of(NameLifetime.values()));
        int nbytes = choices().below(MAX_SIZE);
        String holder = tellNext("SharedMemory.create(" + JavaSource.of(name) + ", " + nbytes + ", NameLifetime."
                + lifetime + ")");
        if (named.containsKey(name)) {
            assertRefused(Reason.EXISTS, () -> SharedMemory.create(name, nbytes, lifetime));
            return;
        }
        hold(holder, SharedMemory.create(name, nbytes, lifetime), new Segment(name, nbytes, lifetime));
    }

    /// What had the name has none from then on.
    private void publish(String name) throws IOException {
        NameLifetime lifetime = choices().of(List.of(NameLifetime.values()));
        int nbytes = choices().below(MAX_SIZE);
        Segment segment = new Segment(name, nbytes, lifetime);
        segment.value = (byte) choices().below(256);
        String holder = tellNext("published(" + JavaSource.of(name) + ", " + nbytes + ", NameLifetime." + lifetime
                + ", (byte) " + segment.value + ")");
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            draft.write(0, MemorySegment.ofArray(new byte[nbytes]).fill(segment.value));
            hold(holder, draft.publish(name, lifetime), segment);
        }
    }

    private void hold(String holder, SharedMemory memory, Segment segment) {
        named.put(segment.name, segment);
        holders.add(new Holder(program().name(holder, memory), segment, true));
    }

    private String tellNext(String expression) {
        return program().declare("h", expression);
    }

    private void tell(Holder holder, String call) {
        program().line(program().use(holder.memory) + "." + call);
    }

    private void attach(String name) throws IOException {
        Segment segment = named.get(name);
        String holder = tellNext("SharedMemory.attach(" + JavaSource.of("/" + name) + ")");
        if (segment == null) {
            assertRefused(Reason.NOT_FOUND, () -> SharedMemory.attach(name));
        } else {
            holders.add(new Holder(program().name(holder, SharedMemory.attach("/" + name)), segment, false));
        }
    }

    private void unlink(String name) throws IOException {
        program().line("SharedMemory.unlink(" + JavaSource.of(name) + ")");
        assertThat(SharedMemory.unlink(name)).isEqualTo(named.remove(name) != null);
    }

    private void close(Holder holder) {
        tell(holder, "close()");
        holder.memory.close();
        if (!holder.isOpen()) {
            return;
        }
        holder.count--;
        if (!holder.isOpen() && !lasts(holder.segment, holder)) {
            named.remove(holder.segment.name, holder.segment);
        }
    }

    /// Whether a name lasts when one of its holders has gone.
    private boolean lasts(Segment segment, Holder gone) {
        return switch (segment.lifetime) {
            case UNTIL_UNLINKED -> true;
            case WITH_CREATOR -> !gone.isCreator;
            case WITH_LAST_HOLDER -> holders.stream().anyMatch(each -> each.segment == segment && each.isOpen());
        };
    }

    private void retain(Holder holder) {
        tell(holder, "retain()");
        if (holder.isOpen()) {
            assertThat(holder.memory.retain()).isSameAs(holder.memory);
            holder.count++;
        } else {
            assertThatThrownBy(holder.memory::retain).isInstanceOf(IllegalStateException.class);
        }
    }

    private void write(Holder holder) {
        byte value = (byte) choices().below(256);
        tell(holder, "segment().fill((byte) " + value + ")");
        if (holder.isOpen()) {
            holder.memory.segment().fill(value);
            holder.segment.value = value;
        } else if (holder.segment.nbytes > 0) {
            assertThatThrownBy(() -> holder.memory.segment().fill(value)).isInstanceOf(IllegalStateException.class);
        }
    }

    private void list() throws IOException {
        program().line("SharedMemory.list()");
        Map<String, SharedSegment> listed = SharedMemory.list().stream().filter(each -> isOurs(each.name()))
                .collect(Collectors.toMap(SharedSegment::name, each -> each));
        assertThat(listed.keySet()).isEqualTo(named.keySet());
        named.forEach((name, segment) -> {
            assertThat(listed.get(name).nbytes()).isEqualTo(segment.nbytes);
            assertThat(listed.get(name).lifetime()).isEqualTo(segment.lifetime);
            assertThat(listed.get(name).holders()).hasSize((int) holders.stream()
                    .filter(each -> each.segment == segment && each.isOpen()).count())
                    .allMatch(each -> each.pid() == ProcessHandle.current().pid());
        });
    }

    /// Nobody is dead, so nothing of ours goes.
    private void collect() throws IOException {
        program().line("SharedMemory.gc()");
        assertThat(SharedMemory.gc()).noneMatch(each -> isOurs(each.name()));
    }

    private static void compare(Holder holder) {
        assertThat(holder.memory.nbytes()).isEqualTo(holder.segment.nbytes);
        if (holder.isOpen()) {
            byte[] wanted = new byte[holder.segment.nbytes];
            Arrays.fill(wanted, holder.segment.value);
            assertThat(holder.memory.segment().toArray(JAVA_BYTE)).isEqualTo(wanted);
        }
    }

    private static void assertRefused(Reason reason, ThrowingCallable call) {
        assertThat(catchThrowableOfType(SharedMemoryException.class, call).reason()).isEqualTo(reason);
    }

    private boolean isOurs(String name) {
        return name.startsWith(prefix);
    }

    private Set<String> namesThatAreThere() throws IOException {
        try (Stream<Path> files = Files.list(HOME)) {
            return files.map(file -> file.getFileName().toString()).filter(this::isOurs).collect(Collectors.toSet());
        }
    }

    /// Lets everybody go and takes the names away. Then nothing is left.
    @Override
    public void close() throws IOException {
        for (Holder holder : holders) {
            while (holder.isOpen()) {
                close(holder);
            }
        }
        for (String name : names) {
            unlink(name);
        }
        list();
        assertThat(namesThatAreThere()).isEmpty();
    }
}
