package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.mmap.MapMode;
import io.undercroft.properties.ChainModel;
import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.DedupReport;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.SnapshotInfo;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.ActionChainArbitrary;

/// A file to which is done whatever can be done to one, in any order, and what must be in it after each step.
final class History extends ChainModel {
    private static final int BIGGEST_GAP = 1 << 16;

    private final Scratch scratch;
    private final Checks checks;
    private final Path path;
    private final List<Path> bases = new ArrayList<>();
    private final List<Saved> snapshots = new ArrayList<>();
    private Recipe recipe = new Recipe(StateSketch.EMPTY, List.of(), List.of());
    private int states;
    private long chunk;

    /// How closely to look after each step.
    enum Checks {
        NONE, ALL
    }

    /// What a snapshot has to hold.
    private record Saved(long commit, Recipe recipe, boolean isWhole, long chunk, String message,
            Optional<Instant> time) {
        /// The state as it comes back: chunks that no tensor reaches are zeros, unless whole storages were asked for.
        Object expected() {
            Object state = recipe.make();
            if (!isWhole) {
                StateIndex index = StateIndex.of(state);
                index.storages().stream().filter(storage -> !storage.isMeta() && !index.isValue(storage))
                        .forEach(storage -> forget(storage, index, chunk));
            }
            return state;
        }
    }

    /// Options of a save.
    ///
    /// @param way how bytes are stored
    /// @param isWhole whether storages are saved as a whole
    /// @param chunkBits how large chunks are
    /// @param message the length of the message
    /// @param time the time in milliseconds, or 0 for none
    /// @param usesBases whether other files are bases
    private record Saving(int way, boolean isWhole, int chunkBits, int message, int time, boolean usesBases) {
        static final Saving PLAIN = new Saving(0, false, 16, 0, 0, false);

        static Arbitrary<Saving> any() {
            Arbitrary<Boolean> yes = Arbitraries.of(false, true);
            Arbitrary<Integer> messages = Arbitraries.frequencyOf(Tuple.of(1, Arbitraries.just(0)),
                    Tuple.of(1, Arbitraries.integers().between(0, CommitRecord.MAX_MESSAGE_BYTES)));
            Arbitrary<Integer> times = Arbitraries.frequencyOf(Tuple.of(1, Arbitraries.just(0)),
                    Tuple.of(1, Arbitraries.integers().between(1, 1000)));
            return Combinators.combine(Arbitraries.integers().between(0, 3), yes,
                    Arbitraries.integers().between(16, 18), messages, times, yes).as(Saving::new);
        }

        SaveOptions options(List<Path> bases) {
            SaveOptions options = SaveOptions.defaults();
            options = switch (way) {
                case 1 -> options.compress(Compression.ALONE);
                case 2 -> options.compress(Compression.AGAINST_BASE);
                case 3 -> options.sharing(SaveOptions.Sharing.IDENTITY);
                default -> options;
            };
            options = isWhole ? options.wholeStorages() : options;
            options = options.chunkSize(1L << chunkBits);
            options = message > 0 ? options.message("m".repeat(message)) : options;
            options = time > 0 ? options.time(Instant.ofEpochMilli(time)) : options;
            for (Path base : usesBases ? bases : List.<Path>of()) {
                options = options.base(base);
            }
            return options;
        }

        @Override
        public String toString() {
            return "SaveOptions.defaults()" + List.of("", ".compress(Compression.ALONE)",
                    ".compress(Compression.AGAINST_BASE)", ".sharing(Sharing.IDENTITY)").get(way)
                    + (isWhole ? ".wholeStorages()" : "") + ".chunkSize(1L << " + chunkBits + ")"
                    + (message > 0 ? ".message(\"m\".repeat(" + message + "))" : "")
                    + (time > 0 ? ".time(Instant.ofEpochMilli(" + time + "))" : "")
                    + (usesBases ? " with the bases" : "");
        }
    }

    private History(Checks checks) {
        this.checks = checks;
        this.scratch = makeScratch();
        this.path = scratch.file("a.croft");
    }

    /// {@return histories} After each action the file must be what [#check] asks for.
    ///
    /// @param checks whether actions look at what they made
    static ActionChainArbitrary<History> chains(Checks checks) {
        Arbitrary<Saving> savings = Saving.any();
        return ActionChain.startWith(() -> new History(checks))
                .withAction(2, action(Combinators.combine(Recipe.any(), savings).as(Other::new), History::other))
                .withAction(3, action(savings, History::change))
                .withAction(action(savings, History::append))
                .withAction(action(savings, History::save))
                .withAction(action(savings, History::stream))
                .withAction(onFile(History::compact))
                .withAction(onFile(History::export))
                .withAction(onFile(History::flatten))
                .withAction(onFile(History::leaveTail))
                .withAction(action(History::addBase));
    }

    private record Other(Recipe recipe, Saving saving) {}

    private static Action.Independent<History> onFile(Step<History> step) {
        return action(history -> {
            if (history.snapshots.isEmpty()) {
                history.save(Saving.PLAIN);
            }
            step.take(history);
        });
    }

    private void other(Other other) throws IOException {
        recipe = other.recipe;
        states++;
        declareState();
        append(other.saving);
    }

    private void change(Saving saving) throws IOException {
        long seed = choices().below(1000);
        recipe = recipe.changed(seed);
        states++;
        declareState();
        append(saving);
    }

    /// Saves the state to another file, which later saves may use, and goes on with a changed one.
    private void addBase() throws IOException {
        Path base = scratch.file("base" + bases.size() + ".croft");
        Saving saving = new Saving(0, false, 16, 0, 0, true);
        SaveOptions options = saving.options(bases);
        tell("Checkpoint.save(base" + bases.size() + ", ", saving);
        Checkpoint.save(base, recipe.make(), options);
        bases.add(base);
        recipe = recipe.changed(bases.size());
        states++;
        declareState();
    }

    private void declareState() {
        program().note("Object state" + states + "() {\n" + recipe + "return whole;\n}");
    }

    /// Tells of a call on the file, which gets a state.
    private void tell(String call, Saving saving) {
        if (program().length() == 0) {
            declareState();
        }
        program().line(call + "state" + states + "(), " + saving + ")");
    }

    Scratch scratch() {
        return scratch;
    }

    @Override
    public void close() throws IOException {
        scratch.close();
    }

    private Saved saved(SaveOptions options) {
        long commit = snapshots.isEmpty() ? 1 : snapshots.getLast().commit + 1;
        return new Saved(commit, recipe, options.savesWholeStorages(), chunk, options.message(),
                options.time());
    }

    private void save(Saving saving) throws IOException {
        SaveOptions options = saving.options(bases);
        tell("Checkpoint.save(path, ", saving);
        DedupReport report = Checkpoint.save(path, recipe.make(), options).dedup().orElseThrow();
        chunk = options.chunkSize();
        snapshots.clear();
        snapshots.add(saved(options));
        checkReport(report, Files.size(path) - FileLayout.DATA_START);
    }

    private void append(Saving saving) throws IOException {
        if (snapshots.isEmpty()) {
            save(saving);
            return;
        }
        SaveOptions options = saving.options(bases);
        tell("CroftFile.open(path).commit(", saving);
        long before = Files.size(path);
        DedupReport report = CroftFile.open(path).commit(recipe.make(), options);
        snapshots.add(saved(options));
        checkReport(report, Files.size(path) - before);
    }

    private void checkReport(DedupReport report, long growth) {
        assertThat(report.unreached() + report.zeros() + report.sharedStorages() + report.sharedChunks()
                + report.written()).isEqualTo(report.storages());
        List<Storage> storages = StateIndex.of(recipe.make()).storages();
        assertThat(report.storages())
                .isEqualTo(storages.stream().filter(storage -> !storage.isMeta()).mapToLong(Storage::nbytes).sum());
        assertThat(report.identity()).isNotNegative();
        long stored = report.written() - report.compressed() + report.index();
        assertThat(growth).isBetween(stored, stored + BIGGEST_GAP * (storages.size() + 1L));
    }

    private void compact() throws IOException {
        boolean[] keeps = new boolean[snapshots.size()];
        for (int i = 0; i < keeps.length; i++) {
            keeps[i] = choices().yes();
        }
        keeps[choices().below(keeps.length)] = true;
        long before = Files.size(path);
        Compression compression = List.of(Compression.ALONE, Compression.AGAINST_BASE, Compression.NONE)
                .get((int) (before % 3));
        SaveOptions saving = SaveOptions.defaults().compress(compression);
        program().line("CroftFile.open(path, SaveOptions.defaults().compress(Compression." + compression
                + "), OpenOptions.defaults()).compact(info -> " + Arrays.toString(keeps)
                + "[info.sequence() - 1])");
        long saved = CroftFile.open(path, saving, OpenOptions.defaults())
                .compact(info -> keeps[(int) info.sequence() - 1]);
        assertThat(saved).isEqualTo(before - Files.size(path)).isGreaterThan(-mostGrowth());
        for (int i = keeps.length - 1; i >= 0; i--) {
            if (!keeps[i]) {
                snapshots.remove(i);
            }
        }
    }

    /// Bytes that a dropped snapshot shared with later ones move into those, each of which has a gap before its large
    /// extents; and there a small storage may be first to have them, at an offset where no large one can have them.
    private long mostGrowth() {
        long nbytes = 0;
        for (Saved snapshot : snapshots) {
            nbytes += 2 * BIGGEST_GAP;
            nbytes += StateIndex.of(snapshot.recipe.make()).storages().stream().filter(storage -> !storage.isMeta())
                    .mapToLong(Storage::nbytes).filter(size -> size < chunk).sum();
        }
        return nbytes;
    }

    private void export() throws IOException {
        int number = choices().below(snapshots.size());
        Path target = scratch.file("exported.croft");
        program().line("CroftFile.open(path).copy(target, " + snapshots.get(number).commit + "L)");
        CroftFile.open(path).copy(target, snapshots.get(number).commit);
        checkFile(target, List.of(snapshots.get(number)));
    }

    private void flatten() throws IOException {
        int number = choices().below(snapshots.size());
        Path alone = scratch.file("flat.croft");
        program().line("CroftFile.open(path).copyWithBases(target, " + snapshots.get(number).commit + "L)");
        CroftFile.open(path).copyWithBases(alone, snapshots.get(number).commit);
        checkFile(alone, List.of(snapshots.get(number)));
    }

    private void stream(Saving saving) throws IOException {
        SaveOptions options = saving.options(bases).uuid(new UUID(0, choices().bits())).root(scratch.directory());
        tell("Checkpoint.save(channel, ", saving);
        Path target = scratch.file("sealed.croft");
        try (FileChannel channel = FileChannel.open(target, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                StandardOpenOption.TRUNCATE_EXISTING)) {
            DedupReport report = Checkpoint.save(channel, recipe.make(), options);
            checkReport(report, channel.size() - FileLayout.DATA_START);
        }
        checkFile(target,
                List.of(new Saved(1, recipe, options.savesWholeStorages(), options.chunkSize(),
                        options.message(), options.time())));
    }

    /// What an append that was cut short leaves: nothing where the commit slots are.
    private void leaveTail() throws IOException {
        byte[] file = Files.readAllBytes(path);
        Header header = Header.decode(MemorySegment.ofArray(file).asSlice(0, FileLayout.HEADER_BYTES));
        int start = (int) Math.max(file.length, header.slotsEnd());
        byte[] torn = Arrays.copyOf(file, start + 1 + choices().below(10_000));
        program().note("// The file gets " + (torn.length - file.length) + " more bytes, as by an append that is cut.");
        Arrays.fill(torn, start, torn.length, (byte) 7);
        Files.write(path, torn);
    }

    /// Throws an [AssertionError] if the file is not what it has to be.
    void check() throws IOException {
        if (snapshots.isEmpty()) {
            return;
        }
        checkFile(path, snapshots);
        checkIsolation();
        try (Stream<Path> files = Files.list(scratch.directory())) {
            assertThat(files.map(file -> file.getFileName().toString())).allMatch(name -> name.endsWith(".croft"));
        }
    }

    private void checkFile(Path file, List<Saved> saved) throws IOException {
        if (checks == Checks.NONE) {
            return;
        }
        for (int number = 1; number <= saved.size(); number++) {
            Saved snapshot = saved.get(number - 1);
            OpenOptions options = OpenOptions.defaults().snapshot(snapshot.commit)
                    .mapping(number % 2 == 0 ? MapMode.READ_ONLY : MapMode.PRIVATE);
            try (Checkpoint opened = Checkpoint.open(file, options)) {
                Object expected = snapshot.expected();
                Sameness.check(expected, opened.state());
                assertThat(opened.names()).containsExactlyElementsOf(StateIndex.of(expected).tensors().keySet());
            }
        }
        try (Checkpoint opened = Checkpoint.open(file)) {
            assertThat(opened.skippedCommit()).isEmpty();
            assertThat(opened.verify().damages()).isEmpty();
            assertThat(opened.verify().unverifiedBytes()).isZero();
            List<SnapshotInfo> infos = opened.snapshots().reversed();
            assertThat(infos).extracting(SnapshotInfo::commit)
                    .containsExactlyElementsOf(saved.stream().map(Saved::commit).toList());
            assertThat(infos).extracting(SnapshotInfo::message)
                    .containsExactlyElementsOf(saved.stream().map(Saved::message).toList());
            assertThat(infos).extracting(SnapshotInfo::time)
                    .containsExactlyElementsOf(saved.stream().map(Saved::time).toList());
        }
    }

    /// Fills each storage with a byte of its own. Where two of them had bytes in common, one would show the other's.
    private void checkIsolation() throws IOException {
        byte[] before = Files.readAllBytes(path);
        try (Checkpoint opened = Checkpoint.open(path);
                Checkpoint other = Checkpoint.open(path, OpenOptions.defaults().mapping(MapMode.READ_ONLY))) {
            List<Storage> storages = opened.storages().stream().filter(storage -> !storage.isMeta()).toList();
            for (int number = 0; number < storages.size(); number++) {
                storages.get(number).segment().fill((byte) number);
            }
            for (int number = 0; number < storages.size(); number++) {
                MemorySegment wanted = MemorySegment.ofArray(new byte[(int) storages.get(number).nbytes()]);
                wanted.fill((byte) number);
                assertThat(storages.get(number).segment().mismatch(wanted)).isEqualTo(-1);
            }
            Sameness.check(snapshots.getLast().expected(), other.state());
        }
        assertThat(Files.readAllBytes(path)).isEqualTo(before);
    }

    /// Zeroes the chunks of a storage that no tensor touches.
    private static void forget(Storage storage, StateIndex index, long chunk) {
        boolean[] reached = new boolean[Math.toIntExact((storage.nbytes() + chunk - 1) / chunk)];
        for (Tensor tensor : index.tensors().values()) {
            if (tensor.storage() == storage && tensor.numel() > 0) {
                long bits = tensor.dtype().bits();
                long last = tensor.storageOffset();
                for (int dim = 0; dim < tensor.dim(); dim++) {
                    last += (tensor.size(dim) - 1) * tensor.stride()[dim];
                }
                int first = (int) (tensor.storageOffset() * bits / 8 / chunk);
                Arrays.fill(reached, first, (int) (((last + 1) * bits - 1) / 8 / chunk) + 1, true);
            }
        }
        for (int number = 0; number < reached.length; number++) {
            if (!reached[number]) {
                long start = number * chunk;
                storage.segment().asSlice(start, Math.min(chunk, storage.nbytes() - start)).fill((byte) 0);
            }
        }
    }
}
