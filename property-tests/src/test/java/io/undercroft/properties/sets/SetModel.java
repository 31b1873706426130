package io.undercroft.properties.sets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.properties.ChainModel;
import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.ActionChainArbitrary;
import org.jspecify.annotations.Nullable;

/// Shards that writers save, append to, compact and lose in any order, and the manifest that names some snapshots of
/// them: with what each file has, and which of it the manifest names.
///
/// Each writer has some rows of a matrix. The elements of a step are those of no other.
final class SetModel extends ChainModel {
    private static final int WRITERS = 3;
    private static final int ROWS = 2;
    private static final int COLUMNS = 4;
    private static final Shape WHOLE = Shape.of((long) WRITERS * ROWS, COLUMNS);

    private final Scratch scratch;
    private final Path manifest;
    private final @Nullable File[] files = new File[WRITERS];
    private List<Named> named = List.of();
    private long step;
    private long saved;

    /// A file as it was saved, with the steps of the snapshots that are in it, by their numbers.
    ///
    /// @param hasOwnId whether snapshots were dropped from it, so that its id is not that of its contents
    private record File(Map<Long, Long> snapshots, boolean hasOwnId) {
        long newest() {
            return snapshots.keySet().stream().mapToLong(Long::longValue).max().orElseThrow();
        }
    }

    /// What the manifest names: a snapshot of the file that a writer had then.
    private record Named(int writer, File file, long snapshot, long step) {}

    private SetModel() {
        this.scratch = makeScratch();
        this.manifest = scratch.file("run.croftset");
    }

    /// {@return whatever writers do, one thing after the other}
    static ActionChainArbitrary<SetModel> chains() {
        return ActionChain.startWith(SetModel::new)
                .withAction(4, action((SetModel model) -> model.save(model.writer())))
                .withAction(2, action((SetModel model) -> model.append(model.writer())))
                .withAction(2, action(SetModel::saveAll))
                .withAction(action((SetModel model) -> model.compact(model.writer())))
                .withAction(action((SetModel model) -> model.lose(model.writer())))
                .withAction(action(SetModel::begin))
                .withAction(4, action(SetModel::commit))
                .withAction(2, action(SetModel::read));
    }

    private int writer() {
        return choices().below(WRITERS);
    }

    private Path path(int writer) {
        return scratch.file("shard" + writer + ".croft");
    }

    private static Tensor matrix(long step) {
        long first = step * WHOLE.numel();
        return Tensor.arange(DType.INT64, (double) first, (double) (first + WHOLE.numel()), 1).view(WHOLE);
    }

    private Map<String, Object> state(int writer) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("w", Slice.of(matrix(step).narrow(0, (long) writer * ROWS, ROWS), WHOLE, (long) writer * ROWS, 0));
        // Files of equal contents would be the same file.
        state.put("own" + writer, Tensor.of(step, saved));
        saved++;
        return state;
    }

    private SaveOptions options() {
        return SaveOptions.defaults().run("step " + step, WRITERS);
    }

    private String call(int writer) {
        return "state(" + writer + ", " + step + ", " + saved + "), SaveOptions.defaults().run(\"step " + step + "\", "
                + WRITERS + "))";
    }

    private void begin() {
        step++;
    }

    private void saveAll() throws IOException {
        for (int writer = 0; writer < WRITERS; writer++) {
            save(writer);
        }
    }

    private void save(int writer) throws IOException {
        program().line("Checkpoint.save(shard" + writer + ", " + call(writer));
        Checkpoint.save(path(writer), state(writer), options());
        files[writer] = new File(new LinkedHashMap<>(Map.of(1L, step)), false);
    }

    private void append(int writer) throws IOException {
        File file = files[writer];
        if (file == null) {
            save(writer);
            return;
        }
        program().line("CroftFile.open(shard" + writer + ").commit(" + call(writer));
        CroftFile.open(path(writer)).commit(state(writer), options());
        file.snapshots.put(file.newest() + 1, step);
    }

    private void compact(int writer) throws IOException {
        File file = files[writer];
        if (file != null) {
            long newest = file.newest();
            program().line("CroftFile.open(shard" + writer + ").compact(info -> info.commit() == " + newest + ")");
            CroftFile.open(path(writer)).compact(info -> info.commit() == newest);
            boolean drops = file.snapshots.size() > 1;
            if (drops || file.hasOwnId) {
                // It has another id.
                files[writer] = new File(new LinkedHashMap<>(Map.of(newest, file.snapshots.get(newest))), drops);
            }
        }
    }

    private void lose(int writer) throws IOException {
        if (files[writer] != null) {
            program().line("Files.delete(shard" + writer + ")");
            Files.delete(path(writer));
            files[writer] = null;
        }
    }

    /// Saves a manifest of the files that are there, from any of them on.
    private void commit() throws IOException {
        int first = writer();
        List<Integer> there = new ArrayList<>();
        for (int i = 0; i < WRITERS; i++) {
            int writer = (first + i) % WRITERS;
            if (files[writer] != null) {
                there.add(writer);
            }
        }
        if (there.isEmpty()) {
            return;
        }
        program().line("ShardSet.save(manifest, List.of("
                + there.stream().map(writer -> "shard" + writer).collect(Collectors.joining(", ")) + "))");
        List<Named> newest = new ArrayList<>();
        for (int writer : there) {
            File file = files[writer];
            newest.add(new Named(writer, file, file.newest(), file.snapshots.get(file.newest())));
        }
        List<Path> paths = there.stream().map(this::path).toList();
        if (newest.size() == WRITERS && newest.stream().map(Named::step).distinct().count() == 1) {
            ShardSet.save(manifest, paths);
            named = newest;
        } else {
            Optional<byte[]> before = Files.exists(manifest)
                    ? Optional.of(Files.readAllBytes(manifest))
                    : Optional.empty();
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.save(manifest, paths))
                    .matches(e -> e.code().equals("V21-SHARD"), "V21-SHARD");
            assertThat(Files.exists(manifest)).isEqualTo(before.isPresent());
            if (before.isPresent()) {
                assertThat(Files.readAllBytes(manifest)).isEqualTo(before.get());
            }
        }
    }

    /// Whether each file is the one that the manifest means, and has the snapshot still.
    @SuppressWarnings("ReferenceEquality") // A file that is saved anew is another one.
    private boolean isComplete() {
        return named.stream().allMatch(each -> files[each.writer] == each.file
                && each.file.snapshots.containsKey(each.snapshot));
    }

    /// Reads some elements, which may be of several shards.
    private void read() throws IOException {
        if (named.isEmpty() || !isComplete()) {
            return;
        }
        long[] offset = new long[2];
        long[] size = new long[2];
        for (int dim = 0; dim < 2; dim++) {
            offset[dim] = choices().below((int) WHOLE.size(dim));
            size[dim] = choices().below((int) (WHOLE.size(dim) - offset[dim]) + 1);
        }
        program().line("ShardSet.open(manifest).tensor(\"w\", new long[]{" + offset[0] + ", " + offset[1]
                + "}, Shape.of(" + size[0] + ", " + size[1] + "))");
        try (ShardSet set = ShardSet.open(manifest)) {
            Tensor expected = matrix(named.getFirst().step);
            for (int dim = 0; dim < 2; dim++) {
                expected = expected.narrow(dim, offset[dim], size[dim]);
            }
            assertThat(set.tensor("w", offset, Shape.of(size)).contentEquals(expected)).isTrue();
        }
    }

    /// The set is what was committed last, or is refused because a part of that is gone.
    void check() throws IOException {
        assertThat(Files.exists(manifest)).isEqualTo(!named.isEmpty());
        try (var files = Files.list(scratch.directory())) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .allMatch(name -> name.endsWith(".croft") || name.endsWith(".croftset"));
        }
        if (named.isEmpty()) {
            return;
        }
        if (!isComplete()) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> ShardSet.open(manifest).close())
                    .matches(e -> e.code().equals("V21-SHARD"), "V21-SHARD");
            return;
        }
        long committed = named.getFirst().step;
        try (ShardSet set = ShardSet.open(manifest)) {
            assertThat(set.run()).contains("step " + committed);
            assertThat(set.names()).containsExactly("own0", "own1", "own2", "w");
            assertThat(set.tensor("w").contentEquals(matrix(committed))).isTrue();
            for (int writer = 0; writer < WRITERS; writer++) {
                assertThat(set.tensor("own" + writer).getLong(0)).isEqualTo(committed);
            }
            assertThat(set.shards()).extracting(shard -> shard.path().getFileName().toString())
                    .containsExactlyElementsOf(named.stream().map(each -> "shard" + each.writer + ".croft").toList());
        }
    }

    @Override
    public void close() throws IOException {
        scratch.close();
    }
}
