package io.undercroft.properties.laws;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.CommitRecord;
import io.undercroft.format.internal.FileLayout;
import io.undercroft.format.internal.Header;
import io.undercroft.mmap.MapMode;
import io.undercroft.properties.Choices;
import io.undercroft.properties.Scratch;
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

/// Does to a file whatever can be done to one, in any order, and knows what must be in it after each step.
final class History {
    private static final int MOST_STEPS = 8;
    private static final int BIGGEST_GAP = 1 << 16;

    private final Choices choices;
    private final Scratch scratch;
    private final Checks checks;
    private final Path path;
    private final List<Path> bases = new ArrayList<>();
    private final List<Saved> snapshots = new ArrayList<>();
    private Recipe recipe;
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

    private History(Choices choices, Scratch scratch, Checks checks) {
        this.choices = choices;
        this.scratch = scratch;
        this.checks = checks;
        this.path = scratch.file("a.croft");
        this.recipe = Recipe.of(choices);
    }

    /// Makes a history, and throws an [AssertionError] at the first step after which the file is not what it has to be.
    ///
    /// @param choices decide on all of it; equal ones make the same history
    /// @param scratch where the files are
    /// @param checks whether to look
    static void make(byte[] choices, Scratch scratch, Checks checks) throws IOException {
        new History(new Choices(choices), scratch, checks).make();
    }

    private void make() throws IOException {
        for (int number = choices.below(3); number > 0; number--) {
            Path base = scratch.file("base" + number + ".croft");
            SaveOptions options = SaveOptions.defaults().chunkSize(1 << 16);
            for (Path earlier : bases) {
                options = options.base(earlier);
            }
            Checkpoint.save(base, recipe.make(), options);
            bases.add(base);
            recipe = recipe.changed(number);
        }
        save();
        for (int step = 0; step < MOST_STEPS && !choices.areUsedUp(); step++) {
            step();
            if (checks == Checks.ALL) {
                check();
            }
        }
    }

    private void step() throws IOException {
        switch (choices.below(10)) {
            case 0 -> append();
            case 1 -> save();
            case 2 -> compact();
            case 3 -> export();
            case 4 -> flatten();
            case 5 -> stream();
            case 6 -> leaveTail();
            case 7 -> {
                recipe = Recipe.of(choices);
                append();
            }
            default -> {
                recipe = recipe.changed(choices.below(1000));
                append();
            }
        }
    }

    private SaveOptions options() {
        SaveOptions options = SaveOptions.defaults();
        options = switch (choices.below(4)) {
            case 1 -> options.compress(Compression.ALONE);
            case 2 -> options.compress(Compression.AGAINST_BASE);
            case 3 -> options.sharing(SaveOptions.Sharing.IDENTITY);
            default -> options;
        };
        if (choices.yes()) {
            options = options.wholeStorages();
        }
        options = options.chunkSize(1L << (16 + choices.below(3)));
        if (choices.yes()) {
            options = options.message("m".repeat(choices.below(CommitRecord.MAX_MESSAGE_BYTES + 1)));
        }
        if (choices.yes()) {
            options = options.time(Instant.ofEpochMilli(1 + choices.below(1000)));
        }
        for (Path base : choices.yes() ? bases : List.<Path>of()) {
            options = options.base(base);
        }
        return options;
    }

    private Saved saved(SaveOptions options) {
        long commit = snapshots.isEmpty() ? 1 : snapshots.getLast().commit + 1;
        return new Saved(commit, recipe, options.savesWholeStorages(), chunk, options.message(),
                options.time());
    }

    private void save() throws IOException {
        SaveOptions options = options();
        DedupReport report = Checkpoint.save(path, recipe.make(), options).dedup().orElseThrow();
        chunk = options.chunkSize();
        snapshots.clear();
        snapshots.add(saved(options));
        checkReport(report, Files.size(path) - FileLayout.DATA_START);
    }

    private void append() throws IOException {
        SaveOptions options = options();
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
            keeps[i] = choices.yes();
        }
        keeps[choices.below(keeps.length)] = true;
        long before = Files.size(path);
        SaveOptions saving = SaveOptions.defaults().compress(switch ((int) (before % 3)) {
            case 0 -> Compression.ALONE;
            case 1 -> Compression.AGAINST_BASE;
            default -> Compression.NONE;
        });
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
        int number = choices.below(snapshots.size());
        Path target = scratch.file("exported.croft");
        CroftFile.open(path).copy(target, snapshots.get(number).commit);
        checkFile(target, List.of(snapshots.get(number)));
    }

    private void flatten() throws IOException {
        int number = choices.below(snapshots.size());
        Path alone = scratch.file("flat.croft");
        CroftFile.open(path).copyWithBases(alone, snapshots.get(number).commit);
        checkFile(alone, List.of(snapshots.get(number)));
    }

    private void stream() throws IOException {
        SaveOptions options = options().uuid(new UUID(0, choices.bits())).root(scratch.directory());
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
        byte[] torn = Arrays.copyOf(file, start + 1 + choices.below(10_000));
        Arrays.fill(torn, start, torn.length, (byte) 7);
        Files.write(path, torn);
    }

    private void check() throws IOException {
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
