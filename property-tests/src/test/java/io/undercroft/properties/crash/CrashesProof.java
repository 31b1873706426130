package io.undercroft.properties.crash;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.benchmarks.Figure;
import io.undercroft.benchmarks.Report;
import io.undercroft.format.Digest128;
import io.undercroft.format.internal.BaseFiles;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Coding;
import io.undercroft.format.internal.Finding;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.Snapshot;
import io.undercroft.format.internal.Verifier;
import io.undercroft.properties.Effort;
import io.undercroft.properties.RandomProof;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.sets.SetWriter;
import io.undercroft.serializer.internal.writing.FileCopier;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
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
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Cuts the power at every moment of a save, an append, a compaction, the export of a set of files, and the saves of
/// shards with the manifest of their set, and looks at what is left: it must be the file or the set as it was before,
/// or as it is after, whole. The same of files with compressed chunks, whose references are in the file or in a base.
public final class CrashesProof {
    private static final int CHUNK = 1 << 16;
    /// After so many tries without a state that was not seen before, a moment has no more of them.
    private static final int PATIENCE = 20;
    private static final int SET_TRIES = 4;
    /// More than what goes past the page cache at least.
    private static final int LARGE = (3 << 19) + 77;
    private static final int PAGE = 4096;
    private static final String SETS = "safetensors-index";
    private static final String DISTRIBUTED = "torch-dcp";
    private static final SaveOptions OPTIONS = SaveOptions.defaults().chunkSize(CHUNK);
    private static final SaveOptions AGAINST_BASE = OPTIONS.compress(Compression.AGAINST_BASE);

    private final Random random;
    private final Scratch scratch;
    private final int triesPerMoment;
    private final int triesPerFault;
    private final int wanted;
    private final Set<Digest128> distinct = new HashSet<>();
    private final List<Figure> figures = new ArrayList<>();
    private long states;
    private long broken;
    private long appended;
    private long direct;
    private long pagesWrittenBothWays;
    /// The files that the file needs whose states are looked at.
    private BaseFiles bases = BaseFiles.none();

    private CrashesProof(long seed, Scratch scratch, Effort effort) {
        this.random = new Random(seed);
        this.scratch = scratch;
        this.triesPerMoment = effort == Effort.FULL ? 10_000 : 40;
        this.triesPerFault = effort == Effort.FULL ? 40 : 1;
        this.wanted = effort == Effort.FULL ? 100_000 : 500;
    }

    public static Report run(Effort effort) throws IOException {
        // Not in memory, as most proofs are: large files go past the page cache of a disk only.
        return RandomProof.report("crashes", Scratch.onDisk(),
                (seed, scratch) -> new CrashesProof(seed, scratch, effort).run());
    }

    /// A writer at work.
    @FunctionalInterface
    private interface Work {
        void on(RecordingDisk disk, Path path) throws IOException;
    }

    private List<Figure> run() throws IOException {
        Map<String, Object> state = state();
        Path path = scratch.file("state.croft");
        cut("save of a new file", path, (disk, file) -> disk.save(file, state, OPTIONS));
        change(state);
        cut("save over a file", path, (disk, file) -> disk.save(file, state, OPTIONS));
        FileHistory history = new FileHistory();
        for (int times = 1; times <= 5; times++) {
            change(state);
            cut("append", path, (disk, file) -> disk.commit(file, history, state, OPTIONS));
        }
        byte[] tail = new byte[10_000];
        random.nextBytes(tail);
        Files.write(path, tail, StandardOpenOption.APPEND);
        change(state);
        cut("append after a torn one", path, (disk, file) -> disk.commit(file, state, OPTIONS));
        cut("compaction", path,
                (disk, file) -> new FileCopier(disk).compact(file, info -> info.sequence() > 2,
                        Compression.NONE, Replacing.ANY));
        cutFailures("save over a file", path, (disk, file) -> disk.save(file, state, OPTIONS));
        cutFailures("append", path, (disk, file) -> disk.commit(file, state, OPTIONS));
        cutFailures("compaction", path,
                (disk, file) -> new FileCopier(disk).compact(file, info -> info.sequence() > 2,
                        Compression.NONE, Replacing.ANY));
        cutCompressed();
        cutSet("set.safetensors.index.json", "export of a set", 900, SETS, "2KB");
        cutSet("set.safetensors.index.json", "export over another set", 900, SETS, "1KB");
        cutSet(".metadata", "export of a distributed checkpoint", 900, DISTRIBUTED, "6KB");
        renameShards();
        cutSet(".metadata", "export over another distributed checkpoint", 900, DISTRIBUTED, "3KB");
        cutManifests();
        cutLarge();
        figures.add(Figure.count("states", states));
        figures.add(Figure.count("of them different files", distinct.size()).atLeast(wanted));
        figures.add(Figure.count("of them appended to, which has to work", appended));
        figures.add(Figure.count("states that are neither the old snapshot nor the new one, whole", broken)
                .atMost(0));
        change(state);
        figures.add(Figure.count("writes past the page cache", direct).atLeast(4));
        figures.add(Figure.count("pages that were written past it and through it", pagesWrittenBothWays)
                .atMost(0));
        figures.add(Figure.count("as a control, of a writer that forces nothing", brokenWithoutForce(path, state))
                .atLeast(1));
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
        change((Tensor) state.get("large"));
        change((Tensor) state.get("small"));
        state.merge("step", 1L, (old, one) -> (long) old + (long) one);
    }

    private void change(Tensor tensor) {
        Storage storage = tensor.storage();
        storage.set(random.nextLong(storage.nbytes()), (byte) random.nextInt());
    }

    private void cut(String what, Path path, Work work) throws IOException {
        cut(what, path, triesPerMoment, work);
    }

    private void cut(String what, Path path, int tries, Work work) throws IOException {
        Map<Path, byte[]> before = filesAt(path);
        RecordingDisk disk = new RecordingDisk();
        work.on(disk, path);
        List<DiskOperation> operations = disk.operations();
        lookAtWays(operations);
        Digest128 old = rootAt(path, before);
        Digest128 after = rootOf(Files.readAllBytes(path));
        long statesBefore = states;
        for (int moment = 0; moment <= operations.size(); moment++) {
            boolean isOver = moment == operations.size();
            cutAt(before, operations.subList(0, moment), path, tries, isOver ? Set.of(after) : Set.of(old, after));
        }
        figures.add(Figure.count(what + ": disk operations", operations.size()));
        figures.add(Figure.count(what + ": states", states - statesBefore));
    }

    private void cutAt(Map<Path, byte[]> before, List<DiskOperation> done, Path path, int tries, Set<Digest128> good)
            throws IOException {
        check(before, done, path, PowerCut.Fate.LOST, good);
        check(before, done, path, PowerCut.Fate.ARRIVED, good);
        int last = distinct.size();
        int news = 0;
        for (int i = 0; i < tries && i - news < PATIENCE; i++) {
            check(before, done, path, i % 4 == 0 ? PowerCut.Fate.WHOLE_WRITES : PowerCut.Fate.SECTORS, good);
            news = distinct.size() > last ? i : news;
            last = distinct.size();
        }
    }

    private static Map<Path, byte[]> filesAt(Path path) throws IOException {
        return Files.exists(path) ? Map.of(path, Files.readAllBytes(path)) : Map.of();
    }

    private static Digest128 rootAt(Path path, Map<Path, byte[]> files) throws IOException {
        byte[] bytes = files.get(path);
        return bytes == null ? Digest128.ZERO : rootOf(bytes);
    }

    /// Lets each operation of some work fail, appends to the file that is left, and cuts the power at every moment from
    /// the failure on. The file is left as it was.
    private void cutFailures(String what, Path path, Work work) throws IOException {
        Map<Path, byte[]> before = filesAt(path);
        RecordingDisk whole = new RecordingDisk();
        work.on(whole, path);
        Digest128 after = rootOf(Files.readAllBytes(path));
        int operations = whole.operations().size();
        long statesBefore = states;
        for (DiskFault.Manner manner : DiskFault.Manner.values()) {
            for (DiskFault.Duration duration : DiskFault.Duration.values()) {
                for (int failing = 1; failing <= operations; failing++) {
                    Files.write(path, before.get(path));
                    cutFailure(path, before, after, work, new DiskFault(failing, manner, duration));
                }
            }
        }
        Files.write(path, before.get(path));
        figures.add(Figure.count(what + " that fails, then an append: states", states - statesBefore));
    }

    private void cutFailure(Path path, Map<Path, byte[]> before, Digest128 after, Work work, DiskFault fault)
            throws IOException {
        Digest128 old = rootAt(path, before);
        RecordingDisk disk = new RecordingDisk(fault);
        boolean hasFailed = false;
        try {
            work.on(disk, path);
        } catch (IOException _) {
            hasFailed = true;
        }
        disk.mend();
        // What the system says is in the file, which need not be on the disk.
        Digest128 seen = rootOf(Files.readAllBytes(path));
        if (!seen.equals(after) && !(hasFailed && seen.equals(old))) {
            broken(fault + ": the file has a snapshot that nobody saved, or has lost one");
        }
        int first = disk.operations().size();
        disk.commit(path, Map.of("next", noise(3000)), OPTIONS);
        List<DiskOperation> operations = disk.operations();
        Digest128 next = rootOf(Files.readAllBytes(path));
        boolean isForced = false;
        for (int moment = Math.min(fault.failing(), first); moment <= operations.size(); moment++) {
            isForced |= moment > first && operations.get(moment - 1) instanceof DiskOperation.ForceDirectory;
            Set<Digest128> good = new HashSet<>(Set.of(seen));
            if (moment == operations.size()) {
                good = Set.of(next);
            } else if (moment > first) {
                good.add(next);
            }
            if (!isForced && (hasFailed || moment < first)) {
                good.add(old);
            }
            cutAt(before, operations.subList(0, moment), path, triesPerFault, good);
        }
    }

    /// Of files with compressed chunks: alone, as differences from the snapshot before, from the newest one after a
    /// compaction, and from a base.
    private void cutCompressed() throws IOException {
        Map<String, Object> state = state();
        state.put("weights", weights());
        Path path = scratch.file("compressed.croft");
        cut("save of a new compressed file", path,
                (disk, file) -> disk.save(file, state, OPTIONS.compress(Compression.ALONE)));
        tune(state);
        cut("save over a compressed file", path, (disk, file) -> disk.save(file, state, OPTIONS));
        for (int times = 1; times <= 3; times++) {
            tune(state);
            cut("append of differences", path, (disk, file) -> disk.commit(file, state, AGAINST_BASE));
        }
        cutFailures("append of differences", path, (disk, file) -> disk.commit(file, state, AGAINST_BASE));
        tune(state);
        disk().commit(path, state, OPTIONS);
        requireCoded(path, Coding.DIFFERENCE, false);
        cut("compaction to differences from the newest snapshot", path,
                (disk, file) -> new FileCopier(disk).compact(file, info -> info.sequence() > 1,
                        Compression.AGAINST_BASE, Replacing.ANY));
        requireCoded(path, Coding.DIFFERENCE, false);
        tune(state);
        cut("append to a compacted file", path, (disk, file) -> disk.commit(file, state, AGAINST_BASE));
        cut("compaction that leaves the references only", path,
                (disk, file) -> new FileCopier(disk).compact(file, info -> info.sequence() == 4, Compression.NONE,
                        Replacing.ANY));
        Path base = scratch.file("base.croft");
        disk().save(base, state, OPTIONS);
        ByteSource needed = ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(base)));
        bases = _ -> Optional.of(needed);
        tune(state);
        Path thin = scratch.file("thin.croft");
        cut("save against a base", thin, (disk, file) -> disk.save(file, state, AGAINST_BASE.base(base)));
        requireCoded(thin, Coding.DIFFERENCE, true);
        tune(state);
        cut("append against a base", thin, (disk, file) -> disk.commit(file, state, AGAINST_BASE));
        requireCoded(thin, Coding.DIFFERENCE, true);
        cut("compaction against the newest snapshot and a base", thin,
                (disk, file) -> new FileCopier(disk).compact(file, _ -> true, Compression.AGAINST_BASE,
                        Replacing.ANY));
        bases = BaseFiles.none();
    }

    private static RecordingDisk disk() {
        return new RecordingDisk();
    }

    /// Fails if no chunk of the newest snapshot or of the first one is coded so: then nothing of it would be proven.
    private static void requireCoded(Path path, int codec, boolean isOfBase) throws IOException {
        Snapshot newest = Snapshot.open(ByteSource.of(MemorySegment.ofArray(Files.readAllBytes(path))),
                Limits.DEFAULT);
        for (Snapshot next = newest; next != null; next = next.previous().orElse(null)) {
            for (int number = 0; number < next.extentCount(); number++) {
                Coding coding = next.extent(number).coding();
                if (coding != null && coding.codec() == codec && coding.hasReferenceInThisFile() != isOfBase) {
                    return;
                }
            }
        }
        throw new IllegalStateException("no chunk of " + path + " is coded as it should be");
    }

    /// Elements of 16 bits, of which the upper half varies little.
    private Tensor weights() {
        byte[] bytes = new byte[2 * CHUNK + 4000];
        for (int i = 0; i < bytes.length; i += 2) {
            bytes[i] = (byte) random.nextInt();
            bytes[i + 1] = (byte) (60 + random.nextInt(4));
        }
        return Tensor.of(Storage.copyOf(bytes), DType.BFLOAT16, 0, Shape.of(bytes.length / 2));
    }

    /// Changes most weights a little, and other tensors in one place.
    private void tune(Map<String, Object> state) {
        change(state);
        Storage storage = ((Tensor) state.get("weights")).storage();
        for (long i = 0; i < storage.nbytes(); i += 2) {
            storage.set(i, (byte) (storage.get(i) + random.nextInt(3) - 1));
        }
    }

    /// Of files of more than what goes past the page cache at least; less often, since they are large.
    private void cutLarge() throws IOException {
        Path path = scratch.file("large.croft");
        Map<String, Object> state = new LinkedHashMap<>(Map.of("large", noise(LARGE)));
        cut("save of a large file", path, triesPerFault,
                (disk, file) -> disk.save(file, state, OPTIONS));
        change((Tensor) state.get("large"));
        cut("append to a large file", path, triesPerFault,
                (disk, file) -> disk.commit(file, state, OPTIONS));
        change((Tensor) state.get("large"));
        cut("save over a large file", path, triesPerFault,
                (disk, file) -> disk.save(file, state, OPTIONS));
        cutFailures("save over a large file", path, (disk, file) -> disk.save(file, state, OPTIONS));
        cut("append to a large file once more", path, triesPerFault,
                (disk, file) -> disk.commit(file, state, OPTIONS));
        cut("compaction of a large file", path, triesPerFault,
                (disk, file) -> new FileCopier(disk).compact(file, info -> info.sequence() == 2,
                        Compression.NONE, Replacing.ANY));
        cutSet("large.safetensors.index.json", "export of a large set", LARGE, SETS, "2MB");
    }

    /// A page that went both ways may be in the cache as it was.
    private void lookAtWays(List<DiskOperation> operations) {
        Map<Path, Map<Long, RecordingDisk.Way>> ways = new HashMap<>();
        for (DiskOperation operation : operations) {
            if (operation instanceof DiskOperation.Write write) {
                direct += write.way() == RecordingDisk.Way.DIRECT ? 1 : 0;
                Map<Long, RecordingDisk.Way> pages = ways.computeIfAbsent(write.path(), _ -> new HashMap<>());
                long end = write.offset() + write.bytes().byteSize();
                for (long page = write.offset() / PAGE; page * PAGE < end; page++) {
                    RecordingDisk.Way other = pages.put(page, write.way());
                    pagesWrittenBothWays += other == null || other == write.way() ? 0 : 1;
                }
            }
        }
    }

    private void broken(String fault) {
        broken++;
        System.err.println("BROKEN: " + fault);
    }

    /// The set is whole if its index is the old or the new one, and all files that this one names are as they were
    /// written.
    private void cutSet(String name, String what, int nbytes, String format, String shardSize) throws IOException {
        Path index = scratch.file(name);
        Map<Path, byte[]> before = filesOfTheSet(index);
        Map<String, Object> state = new LinkedHashMap<>();
        for (String tensor : nbytes == LARGE ? List.of("a", "b") : List.of("a", "b", "c", "d")) {
            state.put(tensor, noise(nbytes));
        }
        RecordingDisk disk = new RecordingDisk();
        disk.save(index, state, SaveOptions.defaults().format(format)
                .setting(format.equals(SETS) ? "safetensors.shard" : "torch-dcp.shard", shardSize));
        List<DiskOperation> operations = disk.operations();
        lookAtWays(operations);
        Map<Path, byte[]> after = filesOfTheSet(index);
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

    /// Gives the shards of the distributed checkpoint the names of another process, so that the next one has others.
    private void renameShards() throws IOException {
        Path index = scratch.file(".metadata");
        Files.writeString(index, Files.readString(index, ISO_8859_1).replace("__0_", "__1_"), ISO_8859_1);
        try (DirectoryStream<Path> shards = Files.newDirectoryStream(scratch.directory(), "__0_*")) {
            for (Path shard : shards) {
                Files.move(shard, scratch.file(shard.getFileName().toString().replace("__0_", "__1_")));
            }
        }
        try (Checkpoint renamed = Checkpoint.open(index)) {
            if (!renamed.format().equals(DISTRIBUTED) || renamed.files().size() < 3) {
                throw new IllegalStateException("no distributed checkpoint of several shards: " + renamed.files());
            }
        }
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

    /// Shards and their manifest: new ones, snapshots that are appended to the shards, and other shards for the same
    /// manifest. What the manifest names is there when it is.
    private void cutManifests() throws IOException {
        Path manifest = scratch.file("sharded.croftset");
        List<Path> shards = List.of(scratch.file("sharded-0.croft"), scratch.file("sharded-1.croft"));
        List<Path> others = List.of(scratch.file("sharded-2.croft"), scratch.file("sharded-3.croft"));
        cutManifest("shards and a manifest", manifest, (disk, whole) -> {
            saveShards(disk, shards, whole);
            new SetWriter(disk).create(manifest, shards);
        });
        cutManifest("appends to shards and a manifest", manifest, (disk, whole) -> {
            for (int number = 0; number < shards.size(); number++) {
                disk.commit(shards.get(number), shard(whole, number), OPTIONS.run("appended", 2));
            }
            new SetWriter(disk).save(manifest, shards);
        });
        cutManifest("other shards and a manifest", manifest, (disk, whole) -> {
            saveShards(disk, others, whole);
            new SetWriter(disk).save(manifest, others);
        });
    }

    /// Writers of the shards of a tensor, and of their manifest.
    @FunctionalInterface
    private interface ShardedWork {
        void on(RecordingDisk disk, Tensor whole) throws IOException;
    }

    private static void saveShards(RecordingDisk disk, List<Path> shards, Tensor whole) throws IOException {
        for (int number = 0; number < shards.size(); number++) {
            disk.save(shards.get(number), shard(whole, number), OPTIONS.run("saved", shards.size()));
        }
    }

    /// A half of the tensor, and a tensor that both shards have, of which one stores the elements.
    private static Map<String, Object> shard(Tensor whole, int number) {
        long half = whole.size(0) / 2;
        return Map.of("weight", Slice.of(whole.narrow(0, number * half, half), whole.shape(), number * half), "bias",
                Slice.whole(whole.narrow(0, 0, 100)).replica(number, 2));
    }

    private void cutManifest(String what, Path manifest, ShardedWork work) throws IOException {
        Map<Path, byte[]> before = filesOfTheSet(manifest);
        byte @Nullable [] old = Files.exists(manifest) ? wholeOf(manifest) : null;
        Tensor whole = noise(2 * CHUNK);
        RecordingDisk disk = new RecordingDisk();
        work.on(disk, whole);
        List<DiskOperation> operations = disk.operations();
        lookAtWays(operations);
        byte[] saved = whole.toByteArray();
        Set<Path> after = filesOfTheSet(manifest).keySet();
        long statesBefore = states;
        try (Scratch copies = Scratch.make()) {
            for (int moment = 0; moment <= operations.size(); moment++) {
                List<DiskOperation> done = operations.subList(0, moment);
                byte @Nullable [] oldest = moment == operations.size() ? saved : old;
                for (PowerCut.Fate fate : PowerCut.Fate.values()) {
                    for (int i = 0; i < SET_TRIES; i++) {
                        states++;
                        for (Path file : after) {
                            byte[] left = PowerCut.bytesAfter(before, done, file, fate, random);
                            if (left != null) {
                                var _ = copies.write(file.getFileName().toString(), left);
                            }
                        }
                        String fault = faultOfSet(copies.file(manifest.getFileName().toString()), oldest, saved);
                        if (fault != null) {
                            broken(what + " after " + moment + " operations, " + fate + ": " + fault);
                        }
                        copies.clear();
                    }
                }
            }
        }
        figures.add(Figure.count(what + ": disk operations", operations.size()));
        figures.add(Figure.count(what + ": states", states - statesBefore));
    }

    /// What is wrong with a set after a power cut, or null.
    ///
    /// @param old the elements of the tensor in the set that was there, or null if there was none
    /// @param saved the elements in the new one
    private static @Nullable String faultOfSet(Path manifest, byte @Nullable [] old, byte[] saved) {
        if (!Files.exists(manifest)) {
            return old == null ? null : "the manifest is gone";
        }
        try {
            byte[] found = wholeOf(manifest);
            return Arrays.equals(found, old) || Arrays.equals(found, saved) ? null : "nobody saved that";
        } catch (IOException | RuntimeException e) {
            return e.toString();
        }
    }

    /// The elements of the tensor of a set. A commit record of a shard may be torn, if it is not the one that the
    /// manifest names.
    private static byte[] wholeOf(Path manifest) throws IOException {
        try (Checkpoint set = Checkpoint.open(manifest)) {
            byte[] weight = set.tensor("weight").toByteArray();
            if (!Arrays.equals(set.tensor("bias").toByteArray(), Arrays.copyOf(weight, 100))) {
                throw new IOException("the shards are of different saves");
            }
            return weight;
        }
    }

    private Map<Path, byte[]> filesOfTheSet(Path index) throws IOException {
        Map<Path, byte[]> files = new HashMap<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(scratch.directory(),
                index.getFileName().toString().replaceFirst("\\..*", "") + "*")) {
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

    /// The same of an append whose forces are left out. If none of its states were broken, the proof would prove
    /// nothing.
    private long brokenWithoutForce(Path path, Map<String, Object> state) throws IOException {
        Map<Path, byte[]> before = Map.of(path, Files.readAllBytes(path));
        RecordingDisk disk = new RecordingDisk();
        disk.commit(path, state, OPTIONS);
        List<DiskOperation> unforced = disk.operations().stream()
                .filter(operation -> !(operation instanceof DiskOperation.Force)).toList();
        Digest128 old = rootOf(before.get(path));
        Digest128 after = rootOf(Files.readAllBytes(path));
        long count = 0;
        for (int i = 0; i < 1000; i++) {
            byte[] bytes = PowerCut.bytesAfter(before, unforced, path, PowerCut.Fate.WHOLE_WRITES, random);
            count += faultOf(bytes, Set.of(old, after)) == null ? 0 : 1;
        }
        return count;
    }

    private static Digest128 rootOf(byte[] file) throws IOException {
        return Snapshot.open(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT).commit().rootDigest();
    }

    private void check(Map<Path, byte[]> before, List<DiskOperation> done, Path path, PowerCut.Fate fate,
            Set<Digest128> good) throws IOException {
        states++;
        byte[] bytes = PowerCut.bytesAfter(before, done, path, fate, random);
        String fault = faultOf(bytes, good);
        if (fault != null) {
            broken++;
            System.err.println("BROKEN after " + done.size() + " operations, " + fate + ": " + fault);
        } else if (bytes != null && distinct.add(Digest128.of(MemorySegment.ofArray(bytes)))
                && distinct.size() % 50 == 0) {
            appendTo(bytes);
        }
    }

    /// What is wrong with a file, or null.
    private @Nullable String faultOf(byte @Nullable [] bytes, Set<Digest128> good) {
        if (bytes == null) {
            return good.contains(Digest128.ZERO) ? null : "the file is gone";
        }
        try {
            ByteSource source = ByteSource.of(MemorySegment.ofArray(bytes));
            Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
            Digest128 root = snapshot.commit().rootDigest();
            if (!good.contains(root)) {
                return "it is a snapshot that nobody saved, or not one of this moment";
            }
            Verifier.Result verified = Verifier.verify(source, snapshot, bases);
            if (verified.unverifiedExtents() > 0) {
                return "a base is not read";
            }
            for (Finding damage : verified.findings()) {
                boolean isInSlots = snapshot.header().isInSlots(damage.offset(), damage.offset() + 1);
                if (snapshot.skippedCommit() == null || !isInSlots) {
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
        CroftFile.open(path).commit(state, SaveOptions.defaults());
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            boolean same = checkpoint.tensor("after").equal((Tensor) state.get("after"));
            if (!same || faultOf(Files.readAllBytes(path), Set.of(rootOf(Files.readAllBytes(path)))) != null) {
                broken++;
                System.err.println("BROKEN: a file that was appended to after a crash");
            }
        }
    }
}
