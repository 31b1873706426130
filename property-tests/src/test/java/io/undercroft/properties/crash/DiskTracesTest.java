package io.undercroft.properties.crash;

import static io.undercroft.testsupport.TestData.noise;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Recorded;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.internal.extents.FileHistory;
import io.undercroft.serializer.internal.sets.SetWriter;
import io.undercroft.serializer.internal.writing.FileCopier;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What writers do to the disk, operation by operation, and the checksums of what they write, compared with
/// `disk-traces.txt`. Another order of writes, forces and renames may lose a file in a power cut, so a change of that
/// file has a reason in `docs/decisions`, and the proofs `crashes` and `kills` ran after it.
class DiskTracesTest {
    private static final SaveOptions OPTIONS = SaveOptions.defaults();

    private final List<String> trace = new ArrayList<>();
    private final Map<String, String> names = new LinkedHashMap<>();
    @TempDir
    private Path folder;

    /// A writer at work.
    @FunctionalInterface
    private interface Work {
        void on(RecordingDisk disk) throws IOException;
    }

    private void trace(String what, Work work) throws IOException {
        RecordingDisk disk = new RecordingDisk();
        work.on(disk);
        trace.add("# " + what);
        joined(disk.operations()).forEach(operation -> trace.add(describe(operation)));
    }

    /// Joins writes that follow each other in the file: where they are divided depends on the file system.
    private static List<DiskOperation> joined(List<DiskOperation> operations) {
        List<DiskOperation> joined = new ArrayList<>();
        for (DiskOperation operation : operations) {
            if (operation instanceof DiskOperation.Write next && !joined.isEmpty()
                    && joined.getLast() instanceof DiskOperation.Write last && last.path().equals(next.path())
                    && last.offset() + last.bytes().byteSize() == next.offset()) {
                MemorySegment both = Arena.ofAuto().allocate(last.bytes().byteSize() + next.bytes().byteSize());
                both.copyFrom(last.bytes());
                both.asSlice(last.bytes().byteSize()).copyFrom(next.bytes());
                joined.set(joined.size() - 1, new DiskOperation.Write(last.path(), last.offset(), both, last.way()));
            } else {
                joined.add(operation);
            }
        }
        return joined;
    }

    private String describe(DiskOperation operation) {
        return switch (operation) {
            case DiskOperation.Create(var path) -> "create " + name(path);
            case DiskOperation.Write(var path, var offset, var bytes, _) -> "write %s at %s, %s bytes, %08x"
                    .formatted(name(path), offset, bytes.byteSize(), checksum(bytes));
            case DiskOperation.Truncate(var path, var size) -> "truncate %s to %s".formatted(name(path), size);
            case DiskOperation.Force(var path) -> "force " + name(path);
            case DiskOperation.FailedForce(var path) -> "failed force " + name(path);
            case DiskOperation.Rename(var from, var to) -> "rename %s to %s".formatted(name(from), name(to));
            case DiskOperation.Delete(var path) -> "delete " + name(path);
            case DiskOperation.ForceDirectory _ -> "force the directory";
        };
    }

    /// Temporary files have random names.
    private String name(Path path) {
        String name = Objects.toString(path.getFileName());
        return name.endsWith(".croft-tmp") ? names.computeIfAbsent(name, _ -> "temporary " + (names.size() + 1)) : name;
    }

    /// (Not a CRC32C: of records that end with theirs, all have the same.)
    private static long checksum(MemorySegment bytes) {
        CRC32 sum = new CRC32();
        sum.update(bytes.toArray(ValueLayout.JAVA_BYTE));
        return sum.getValue();
    }

    private static Map<String, Object> state(long seed, int large) {
        Map<String, Object> state = new LinkedHashMap<>();
        Tensor tied = Tensor.of(noise(60_000, 1)).view(100, 600);
        state.put("embed", tied);
        state.put("head", tied.transpose(0, 1));
        state.put("changed", Tensor.of(noise(5_000, seed)));
        state.put("large", Tensor.of(noise(large, 2)));
        state.put("zeros", Tensor.zeros(DType.FLOAT32, 1 << 18));
        state.put("step", seed);
        return state;
    }

    @Test
    void whatWritersDoToTheDiskIsAsRecorded() throws IOException {
        Path file = folder.resolve("a.croft");
        trace("save of a new file", disk -> disk.save(file, state(3, 10_000), OPTIONS));
        trace("save over a file", disk -> disk.save(file, state(4, 10_000), OPTIONS));
        trace("commit", disk -> disk.commit(file, state(5, 10_000), OPTIONS));
        trace("commit with a message", disk -> disk.commit(file, state(6, 10_000),
                OPTIONS.message("six").metadata(Map.of("lr", "0.1"))));
        trace("commit of what is there", disk -> disk.commit(file, state(6, 10_000), OPTIONS));
        FileHistory history = new FileHistory();
        trace("first and second commit of a writer", disk -> {
            disk.commit(file, history, state(7, 10_000), OPTIONS);
            disk.commit(file, history, state(8, 10_000), OPTIONS);
        });
        trace("compaction",
                disk -> new FileCopier(disk).compact(file, info -> info.sequence() > 2,
                        SaveOptions.Compression.NONE, Replacing.ANY));
        trace("save of a large file", disk -> disk.save(folder.resolve("large.croft"),
                state(7, 3 << 20), OPTIONS));
        trace("save with a base", disk -> disk.save(folder.resolve("thin.croft"),
                state(8, 3 << 20), OPTIONS.base(folder.resolve("large.croft"))));
        trace("commit to a large file", disk -> disk.commit(folder.resolve("large.croft"),
                state(9, 3 << 20), OPTIONS));
        for (String name : List.of("a.pt", "a.safetensors", "a.npz", "a.gguf", "a.t7")) {
            trace("save of " + name, disk -> export(disk, name, "50GB"));
        }
        trace("export of a set", disk -> export(disk, "a.safetensors.index.json", "1GB"));
        trace("export over a set", disk -> export(disk, "a.safetensors.index.json", "40KB"));
        List<Path> shards = List.of(folder.resolve("s0.croft"), folder.resolve("s1.croft"));
        for (Path shard : shards) {
            Checkpoint.save(shard, Map.of(Objects.toString(shard.getFileName()), Tensor.arange(DType.INT64, 9)));
        }
        trace("manifest of a set", disk -> new SetWriter(disk).create(folder.resolve("a.croftset"), shards));
        trace("another manifest", disk -> new SetWriter(disk).save(folder.resolve("a.croftset"), shards.subList(0, 1)));

        assertThat(trace).containsExactlyElementsOf(Recorded.lines(getClass(), "disk-traces.txt"));
    }

    private void export(RecordingDisk disk, String name, String shard) throws IOException {
        Map<String, Object> state = new LinkedHashMap<>(state(3, 10_000));
        state.remove("step");
        state.remove("head");
        Path file = folder.resolve(name);
        disk.save(file, state,
                name.endsWith(".json") ? OPTIONS.setting("safetensors.shard", shard) : OPTIONS);
    }
}
