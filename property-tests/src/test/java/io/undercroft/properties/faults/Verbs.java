package io.undercroft.properties.faults;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.PublishedCheckpoint;
import io.undercroft.serializer.Retention;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.ShardSet;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import io.undercroft.testsupport.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// What is done while calls fail.
final class Verbs {
    private static final int CHUNK = 1 << 16;
    private static final SaveOptions SMALL_CHUNKS = SaveOptions.defaults().chunkSize(CHUNK);
    private static final Map<String, Object> FIRST = state(1);
    private static final Map<String, Object> SECOND = state(2);
    /// The names of files by whose ends formats are known, of each format that is written.
    private static final List<String> FILES = List.of("a.croft", "a.pt", "a.safetensors", "a.npz", "a.gguf", "a.t7");
    private static final Map<String, SaveOptions> SETS = Map.of(
            "a.safetensors.index.json",
            SaveOptions.defaults().format("safetensors-index").setting("safetensors.shard", "150KB"),
            ".metadata", SaveOptions.defaults().format("torch-dcp").setting("torch-dcp.shard", "150KB"));

    /// The name of shared memory.
    private final String shared;

    /// @param shared a name of shared memory
    Verbs(String shared) {
        this.shared = shared;
    }

    private static Map<String, Object> state(int number) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("large", noise(3 * CHUNK + 1024, number));
        state.put("constant", noise(2 * CHUNK, 0));
        state.put("small", noise(100, number));
        state.put("zeros", Tensor.zeros(DType.FLOAT32, CHUNK));
        return state;
    }

    private static Tensor noise(int nbytes, long seed) {
        return Tensor.of(TestData.noise(nbytes, seed)).view(DType.FLOAT32);
    }

    /// {@return all of them}
    List<Verb> all() {
        List<Verb> verbs = new ArrayList<>();
        for (String file : FILES) {
            verbs.add(save(file, _ -> {}, ""));
            verbs.add(save(file, folder -> Checkpoint.save(folder.resolve(file), FIRST), " over another one"));
            verbs.add(open(file, OpenOptions.defaults(), ""));
            verbs.add(open(file, OpenOptions.defaults().inMemory(), " into memory"));
        }
        verbs.add(new Verb("save of a.npy", _ -> {},
                folder -> Checkpoint.save(folder.resolve("a.npy"), SECOND.get("large")), file("a.npy")));
        SETS.forEach((file, options) -> verbs.add(new Verb("save of " + file, _ -> {},
                folder -> Checkpoint.save(folder.resolve(file), SECOND, options), file(file))));
        verbs.add(commit("commit", SMALL_CHUNKS));
        verbs.add(commit("commit of differences", SMALL_CHUNKS.compress(Compression.AGAINST_BASE)));
        verbs.add(new Verb("compact", Verbs::makeSnapshots,
                folder -> CroftFile.open(folder.resolve("a.croft")).compact(Retention.last(1)), file("a.croft")));
        for (String file : FILES.subList(1, FILES.size())) {
            verbs.add(convert("a.croft", file));
            verbs.add(convert(file, "a.croft"));
        }
        verbs.add(shards());
        for (NameLifetime lifetime : List.of(NameLifetime.UNTIL_UNLINKED, NameLifetime.WITH_LAST_HOLDER)) {
            verbs.add(publish(_ -> {}, lifetime, ""));
        }
        verbs.add(publish(_ -> PublishedCheckpoint.publish(shared, FIRST).close(), NameLifetime.UNTIL_UNLINKED,
                " over another one"));
        verbs.add(new Verb("attach", _ -> PublishedCheckpoint.publish(shared, SECOND).close(),
                _ -> check(PublishedCheckpoint.attach(shared)), _ -> null,
                _ -> PublishedCheckpoint.unpublish(shared)));
        return verbs;
    }

    private static Verb save(String file, Verb.Step before, String what) {
        return new Verb("save of " + file + what, before, folder -> Checkpoint.save(folder.resolve(file), SECOND),
                file(file));
    }

    private static Verb open(String file, OpenOptions options, String what) {
        return new Verb("open " + file + what, folder -> Checkpoint.save(folder.resolve(file), SECOND),
                folder -> check(Checkpoint.open(folder.resolve(file), options)), _ -> null);
    }

    /// Looks at all of it, and closes it.
    private static void check(Checkpoint opened) {
        try (opened) {
            for (Map.Entry<String, Object> each : SECOND.entrySet()) {
                Tensor expected = (Tensor) each.getValue();
                if (!opened.tensor(each.getKey()).storage().contentEquals(expected.storage())) {
                    throw new AssertionError(each.getKey() + " is opened with other bytes");
                }
            }
        }
    }

    private static Verb commit(String name, SaveOptions options) {
        return new Verb(name, folder -> CroftFile.open(folder.resolve("a.croft")).commit(FIRST, options),
                folder -> CroftFile.open(folder.resolve("a.croft")).commit(SECOND, options), file("a.croft"));
    }

    private static void makeSnapshots(Path folder) throws IOException {
        CroftFile file = CroftFile.open(folder.resolve("a.croft"));
        file.commit(FIRST, SMALL_CHUNKS);
        file.commit(state(3), SMALL_CHUNKS);
        file.commit(SECOND, SMALL_CHUNKS);
    }

    private static Verb convert(String from, String to) {
        return new Verb("convert " + from + " to " + to, folder -> Checkpoint.save(folder.resolve(from), SECOND),
                folder -> {
                    try (Checkpoint opened = Checkpoint.open(folder.resolve(from))) {
                        Checkpoint.save(folder.resolve(to), opened.state());
                    }
                }, file(to));
    }

    private static Verb shards() {
        return new Verb("save of a manifest of shards", folder -> {
            for (int i = 0; i < 2; i++) {
                Checkpoint.save(folder.resolve(i + ".croft"), Map.of("part" + i, SECOND),
                        SaveOptions.defaults().run("one", 2));
            }
        }, folder -> ShardSet.create(folder.resolve("a.croftset"),
                List.of(folder.resolve("0.croft"), folder.resolve("1.croft"))), file("a.croftset"));
    }

    private Verb publish(Verb.Step before, NameLifetime lifetime, String what) {
        return new Verb("publish " + lifetime + what, before, _ -> {
            try (PublishedCheckpoint _ = PublishedCheckpoint.publish(shared, SECOND, SaveOptions.defaults(),
                    lifetime)) {
                check(PublishedCheckpoint.attach(shared));
            }
        }, _ -> attachIfThere(), _ -> PublishedCheckpoint.unpublish(shared));
    }

    private @Nullable Checkpoint attachIfThere() throws IOException {
        try {
            return PublishedCheckpoint.attach(shared);
        } catch (SharedMemoryException e) {
            if (e.reason() == SharedMemoryException.Reason.NOT_FOUND) {
                return null;
            }
            throw e;
        }
    }

    private static Verb.Result file(String name) {
        return folder -> openIfThere(folder.resolve(name));
    }

    private static @Nullable Checkpoint openIfThere(Path file) throws IOException {
        return Files.exists(file) ? Checkpoint.open(file) : null;
    }

    /// Fails if two results are not the same.
    static void compare(@Nullable Checkpoint expected, @Nullable Checkpoint actual) {
        if (expected == null || actual == null) {
            if (expected != actual) {
                throw new AssertionError("there is " + (expected == null ? "something" : "nothing"));
            }
            return;
        }
        Sameness.check(expected.state(), actual.state());
    }
}
