package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.testsupport.Proc;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/// The other process: does what it is told, line by line, keeps what it made, and answers each line with one.
final class RegistryPeer {
    private final List<AutoCloseable> kept = new ArrayList<>();

    private RegistryPeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws Exception {
        RegistryPeer peer = new RegistryPeer();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("ready " + ProcessHandle.current().pid());
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            System.out.println(peer.answer(line.split(" ", -1)));
        }
    }

    private String answer(String[] words) throws Exception {
        try {
            return obey(words).replace('\n', ' ');
        } catch (SharedMemoryException e) {
            return e.reason() + " " + e.getMessage();
        }
    }

    private String obey(String[] words) throws Exception {
        switch (words[0]) {
            case "create" ->
                keep(SharedMemory.create(words[1], Long.parseLong(words[2]),
                        NameLifetime.valueOf(words[3])));
            case "attach" -> keep(SharedMemory.attach(words[1]));
            case "attach-of-anybody" -> keep(SharedMemory.attach(words[1], MapMode.SHARED, TrustedOwner.ANYBODY));
            case "attach-read-only" ->
                keep(SharedMemory.attach(words[1], MapMode.READ_ONLY, TrustedOwner.SELF_OR_ROOT));
            case "attach-file" ->
                keep(MappedFile.attach(words[1], MapMode.READ_ONLY, new MapBudget(), TrustedOwner.SELF_OR_ROOT));
            case "draft" -> draft(Long.parseLong(words[1]));
            case "storage" -> FileStorage.openSharedMemory(words[1], ByteRange.bytes(Long.parseLong(words[2])));
            case "anonymous" -> {
                return String
                        .valueOf(keep(SharedMemory.anonymous(Long.parseLong(words[1]))).descriptor().orElseThrow());
            }
            case "descriptor" -> {
                return read(keep(SharedMemory.attachDescriptor(Long.parseLong(words[1]), Integer.parseInt(words[2]))));
            }
            case "inherited" -> {
                return read(keep(SharedMemory.attachDescriptor(Integer.parseInt(words[1]))));
            }
            case "publish" -> publish(words[1], Long.parseLong(words[2]));
            case "exhaust" -> exhaust();
            case "recover" -> recover();
            case "close" -> kept.removeLast().close();
            case "close-first" -> kept.removeFirst().close();
            case "forget" -> {
                kept.clear();
                return collect(words[1]);
            }
            case "list" -> {
                String prefix = words.length == 1 ? "" : words[1];
                return SharedMemory.list().stream().filter(each -> each.name().startsWith(prefix)).toList().toString();
            }
            case "gc" -> {
                return SharedMemory.gc().stream().map(SharedSegment::name).sorted().toList().toString();
            }
            case "churn" -> churn(words[1], new Random(Long.parseLong(words[2])));
            case "race" -> {
                return race(words[1], Integer.parseInt(words[2]), new Random(Long.parseLong(words[3])));
            }
            default -> throw new IllegalArgumentException(words[0]);
        }
        return "done";
    }

    private <T extends AutoCloseable> T keep(T made) {
        kept.add(made);
        return made;
    }

    private void draft(long nbytes) throws SharedMemoryException {
        SharedMemoryDraft draft = keep(SharedMemoryDraft.create());
        draft.write(0, MemorySegment.ofArray(new byte[Math.toIntExact(nbytes)]));
    }

    /// Publishes one byte and the hole before it.
    private static void publish(String name, long hole) throws SharedMemoryException {
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            draft.write(hole, MemorySegment.ofArray(new byte[1]));
            draft.publish(name, NameLifetime.UNTIL_UNLINKED).close();
        }
    }

    /// Opens files until there is no descriptor left.
    private void exhaust() {
        try {
            while (true) {
                kept.add(Files.newInputStream(Path.of("/dev/null")));
            }
        } catch (IOException enough) {
            // Now there is none.
        }
    }

    private void recover() throws IOException {
        for (AutoCloseable each : List.copyOf(kept)) {
            if (each instanceof InputStream file) {
                file.close();
                kept.remove(file);
            }
        }
    }

    /// Has the garbage collector unmap what mentions a text, which takes it no time to speak of.
    private static String collect(String text) throws Exception {
        Instant end = Instant.now().plusSeconds(15);
        while (Proc.mappings(text) > 0) {
            if (Instant.now().isAfter(end)) {
                return "mapped still";
            }
            System.gc();
            Thread.sleep(10);
        }
        return "unmapped";
    }

    /// Tells the first byte, and writes the last.
    private static String read(SharedMemory memory) {
        memory.segment().set(ValueLayout.JAVA_BYTE, memory.nbytes() - 1, (byte) 77);
        return memory.nbytes() + " " + memory.segment().get(ValueLayout.JAVA_BYTE, 0);
    }

    /// Works on a few names without end, as others do on the same, to be killed at any moment.
    @SuppressWarnings("SystemOut")
    private static void churn(String name, Random random) throws IOException {
        System.out.println("churning");
        while (true) {
            NameLifetime lifetime = random.nextBoolean() ? NameLifetime.WITH_CREATOR : NameLifetime.WITH_LAST_HOLDER;
            try (SharedMemory made = SharedMemory.create(name + random.nextInt(3), 100_000, lifetime);
                    SharedMemory attached = SharedMemory.attach(made.name());
                    SharedMemoryDraft draft = SharedMemoryDraft.create()) {
                draft.write(random.nextInt(1000), attached.segment());
                if (random.nextBoolean()) {
                    draft.publish(made.name(), lifetime).close();
                }
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.EXISTS && e.reason() != Reason.NOT_FOUND) {
                    throw e;
                }
            }
        }
    }

    /// Opens one name again and again, as another process does. Whoever creates it writes the same everywhere.
    private static String race(String name, int rounds, Random random) throws IOException {
        int created = 0;
        int attached = 0;
        for (int round = 0; round < rounds; round++) {
            try (SharedMemory memory = SharedMemory.create(name, 8192, NameLifetime.WITH_LAST_HOLDER)) {
                memory.segment().fill((byte) random.nextInt());
                created++;
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.EXISTS) {
                    return e.getMessage();
                }
            }
            try (SharedMemory memory = SharedMemory.attach(name)) {
                attached++;
                if (memory.nbytes() != 8192) {
                    return "half made: " + memory.nbytes();
                }
            } catch (SharedMemoryException e) {
                if (e.reason() != Reason.NOT_FOUND) {
                    return e.getMessage();
                }
            }
        }
        return "raced " + created + " " + attached;
    }
}
