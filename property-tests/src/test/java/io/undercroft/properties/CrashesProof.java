package io.undercroft.properties;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Goal;
import io.undercroft.benchmarks.Report;
import io.undercroft.format.BaseFiles;
import io.undercroft.format.ByteSource;
import io.undercroft.format.Damage;
import io.undercroft.format.Digest128;
import io.undercroft.format.Digests;
import io.undercroft.format.Limits;
import io.undercroft.format.Snapshot;
import io.undercroft.format.Verifier;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.ExportOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.disk.Replacing;
import io.undercroft.serializer.internal.writing.CroftWriter;
import io.undercroft.serializer.internal.writing.Exporter;
import io.undercroft.serializer.internal.writing.FileCopier;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Cuts the power at every moment of a save, an append, a compaction and the export of a set of files, and looks at what is left: it must be
/// the file or the set as it was before, or as it is after, whole.
final class CrashesProof {
    private static final int CHUNK = 1 << 16;
    /// After so many tries without a state that was not seen before, a moment has no more of them.
    private static final int PATIENCE = 20;
    private static final int SET_TRIES = 4;
    private static final SaveOptions OPTIONS = SaveOptions.defaults().chunkSize(CHUNK);

    private final Random random;
    private final Scratch scratch;
    private final int triesPerMoment;
    private final int wanted;
    private final Set<Digest128> distinct = new HashSet<>();
    private final List<Figure> figures = new ArrayList<>();
    private long states;
    private long broken;
    private long appended;

    private CrashesProof(long seed, Scratch scratch, Effort effort) {
        this.random = new Random(seed);
        this.scratch = scratch;
        this.triesPerMoment = effort == Effort.FULL ? 10_000 : 40;
        this.wanted = effort == Effort.FULL ? 100_000 : 500;
    }

    static Report run(Effort effort) throws IOException {
        return RandomProof.report("crashes", (seed, scratch) -> new CrashesProof(seed, scratch, effort).run());
    }

    /// A writer at work.
    @FunctionalInterface
    private interface Work {
        void on(RecordingDisk disk, Path path) throws IOException;
    }

    private List<Figure> run() throws IOException {
        Map<String, Object> state = state();
        Path path = scratch.file("state.croft");
        cut("save of a new file", path, (disk, file) -> new CroftWriter(disk).save(file, state, OPTIONS));
        change(state);
        cut("save over a file", path, (disk, file) -> new CroftWriter(disk).save(file, state, OPTIONS));
        for (int times = 1; times <= 5; times++) {
            change(state);
            cut("append", path, (disk, file) -> new CroftWriter(disk).append(file, state, OPTIONS));
        }
        byte[] tail = new byte[10_000];
        random.nextBytes(tail);
        Files.write(path, tail, StandardOpenOption.APPEND);
        change(state);
        cut("append after a torn one", path, (disk, file) -> new CroftWriter(disk).append(file, state, OPTIONS));
        cut("compaction", path,
                (disk, file) -> new FileCopier(disk).compact(file, info -> info.sequence() > 2, Replacing.ANY));
        cutSet("export of a set", "2KB");
        cutSet("export over another set", "1KB");
        figures.add(Figure.count("states", states));
        figures.add(Figure.count("of them different files", distinct.size()).with(Goal.atLeast(wanted)));
        figures.add(Figure.count("of them appended to, which has to work", appended));
        figures.add(Figure.count("states that are neither the old snapshot nor the new one, whole", broken)
                .with(Goal.atMost(0)));
        change(state);
        figures.add(Figure.count("as a control, of a writer that forces nothing", brokenWithoutForce(path, state))
                .with(Goal.atLeast(1)));
        return figures;
    }

    /// Small storages, a large one of several chunks, zeros, and bytes that two of them share.
    private Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("small", noise(1000));
        state.put("large", noise(3 * CHUNK + 77));
        state.put("zeros", Tensor.zeros(DType.FLOAT32, CHUNK));
        state.put("step", 1L);
        return state;
    }

    private Tensor noise(int nbytes) {
        byte[] bytes = new byte[nbytes];
        random.nextBytes(bytes);
        return Tensor.of(bytes);
    }

    private void change(Map<String, Object> state) {
        Storage large = ((Tensor) state.get("large")).storage();
        large.set(random.nextLong(large.nbytes()), (byte) random.nextInt());
        ((Tensor) state.get("small")).storage().set(random.nextInt(1000), (byte) random.nextInt());
        state.merge("step", 1L, (old, one) -> (long) old + (long) one);
    }

    private void cut(String what, Path path, Work work) throws IOException {
        Map<Path, byte[]> before = new HashMap<>();
        if (Files.exists(path)) {
            before.put(path, Files.readAllBytes(path));
        }
        RecordingDisk disk = new RecordingDisk();
        work.on(disk, path);
        List<DiskOperation> operations = disk.operations();
        Digest128 old = before.containsKey(path) ? rootOf(before.get(path)) : Digest128.ZERO;
        Digest128 after = rootOf(Files.readAllBytes(path));
        long statesBefore = states;
        for (int moment = 0; moment <= operations.size(); moment++) {
            List<DiskOperation> done = operations.subList(0, moment);
            boolean isOver = moment == operations.size();
            check(before, done, path, PowerCut.Fate.LOST, isOver ? after : old, after);
            check(before, done, path, PowerCut.Fate.ARRIVED, isOver ? after : old, after);
            int last = distinct.size();
            int news = 0;
            for (int i = 0; i < triesPerMoment && i - news < PATIENCE; i++) {
                check(before, done, path, i % 4 == 0 ? PowerCut.Fate.WHOLE_WRITES : PowerCut.Fate.SECTORS,
                        isOver ? after : old, after);
                news = distinct.size() > last ? i : news;
                last = distinct.size();
            }
        }
        figures.add(Figure.count(what + ": disk operations", operations.size()));
        figures.add(Figure.count(what + ": states", states - statesBefore));
    }

    /// The set is whole if its index is the old or the new one, and all files that this one names are as they were written.
    private void cutSet(String what, String shardSize) throws IOException {
        Path index = scratch.file("set.safetensors.index.json");
        Map<Path, byte[]> before = filesOfTheSet();
        Map<String, Object> state = new LinkedHashMap<>();
        for (String name : List.of("a", "b", "c", "d")) {
            state.put(name, noise(900));
        }
        RecordingDisk disk = new RecordingDisk();
        new Exporter(disk).write(index, state, ExportOptions.defaults().setting("safetensors.shard", shardSize));
        List<DiskOperation> operations = disk.operations();
        Map<Path, byte[]> after = filesOfTheSet();
        long statesBefore = states;
        for (int moment = 0; moment <= operations.size(); moment++) {
            List<DiskOperation> done = operations.subList(0, moment);
            Map<Path, byte[]> oldest = moment == operations.size() ? after : before;
            for (PowerCut.Fate fate : PowerCut.Fate.values()) {
                checkSet(index, path -> PowerCut.bytesAfter(before, done, path, fate, random), oldest, after);
            }
        }
        figures.add(Figure.count(what + ": disk operations", operations.size()));
        figures.add(Figure.count(what + ": states", states - statesBefore));
    }

    private void checkSet(Path index, Function<Path, byte @Nullable []> left, Map<Path, byte[]> old,
            Map<Path, byte[]> after) {
        for (int i = 0; i < SET_TRIES; i++) {
            states++;
            if (!isWhole(index, left, old, after)) {
                broken++;
                System.err.println("BROKEN: a set that is neither the old one nor the new one");
            }
        }
    }

    private Map<Path, byte[]> filesOfTheSet() throws IOException {
        Map<Path, byte[]> files = new HashMap<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(scratch.directory(), "set*")) {
            for (Path file : found) {
                files.put(file, Files.readAllBytes(file));
            }
        }
        return files;
    }

    private static boolean isWhole(Path index, Function<Path, byte @Nullable []> left, Map<Path, byte[]> old,
            Map<Path, byte[]> after) {
        byte[] found = left.apply(index);
        Map<Path, byte[]> set = Arrays.equals(found, after.get(index)) ? after : old;
        return Arrays.equals(found, set.get(index)) && (found == null || set.keySet().stream()
                .allMatch(file -> file.equals(index) || Arrays.equals(left.apply(file), set.get(file))));
    }

    /// The same of an append whose forces are left out. If none of its states were broken, the proof would prove nothing.
    private long brokenWithoutForce(Path path, Map<String, Object> state) throws IOException {
        Map<Path, byte[]> before = Map.of(path, Files.readAllBytes(path));
        RecordingDisk disk = new RecordingDisk();
        new CroftWriter(disk).append(path, state, OPTIONS);
        List<DiskOperation> unforced = disk.operations().stream()
                .filter(operation -> !(operation instanceof DiskOperation.Force)).toList();
        Digest128 old = rootOf(before.get(path));
        Digest128 after = rootOf(Files.readAllBytes(path));
        long count = 0;
        for (int i = 0; i < 1000; i++) {
            byte[] bytes = PowerCut.bytesAfter(before, unforced, path, PowerCut.Fate.WHOLE_WRITES, random);
            count += faultOf(bytes, old, after) == null ? 0 : 1;
        }
        return count;
    }

    private static Digest128 rootOf(byte[] file) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT).commit().rootDigest();
    }

    private void check(Map<Path, byte[]> before, List<DiskOperation> done, Path path, PowerCut.Fate fate, Digest128 old,
            Digest128 after) throws IOException {
        states++;
        byte[] bytes = PowerCut.bytesAfter(before, done, path, fate, random);
        String fault = faultOf(bytes, old, after);
        if (fault != null) {
            broken++;
            System.err.println("BROKEN after " + done.size() + " operations, " + fate + ": " + fault);
        } else if (bytes != null && distinct.add(Digests.xxh3(MemorySegment.ofArray(bytes)))
                && distinct.size() % 50 == 0) {
            appendTo(bytes);
        }
    }

    /// What is wrong with a file, or null.
    private static @Nullable String faultOf(byte @Nullable [] bytes, Digest128 old, Digest128 after) {
        if (bytes == null) {
            return old.equals(Digest128.ZERO) ? null : "the file is gone";
        }
        try {
            ByteSource source = ByteSource.of(MemorySegment.ofArray(bytes));
            Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
            Digest128 root = snapshot.commit().rootDigest();
            if (!root.equals(old) && !root.equals(after)) {
                return "it is a snapshot that nobody saved";
            }
            for (Damage damage : Verifier.verify(source, snapshot, BaseFiles.none()).damages()) {
                boolean isInSlots = snapshot.header().isInSlots(damage.offset(), damage.offset() + 1);
                if (snapshot.passedOver() == null || !isInSlots) {
                    return damage.toString();
                }
            }
            return null;
        } catch (IOException | RuntimeException e) {
            return e.toString();
        }
    }

    /// Life goes on after a crash.
    private void appendTo(byte[] bytes) throws IOException {
        appended++;
        Path path = scratch.write("crashed.croft", bytes);
        Map<String, Object> state = new LinkedHashMap<>(Map.of("after", noise(2000)));
        CroftFile.append(path, state, SaveOptions.defaults());
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            boolean same = checkpoint.tensor("after").equal((Tensor) state.get("after"));
            if (!same || faultOf(Files.readAllBytes(path), rootOf(Files.readAllBytes(path)),
                    Digest128.ZERO) != null) {
                broken++;
                System.err.println("BROKEN: a file that was appended to after a crash");
            }
        }
    }
}
