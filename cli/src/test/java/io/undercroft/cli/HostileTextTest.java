package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.CroftFile;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.DType;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Text from files, names of files and words of the command line never command the terminal or forge a line, whatever
/// field of whatever command shows them.
class HostileTextTest {
    /// Retitles the terminal, rings, deletes, forges a line, hides what follows, and reorders the line.
    private static final String HOSTILE = "a\u001b]0;title\u0007\u001b[2J\r\ncroft: no "
            + "damage found\u0085\u2028\u009b1m\b\u007f\u202e\u2066z\u200b";

    @TempDir
    Path folder;

    private Path croft;
    private Path flat;
    private Path other;
    private final List<String> shown = new ArrayList<>();

    @BeforeEach
    void everyFieldIsHostile() throws IOException {
        croft = folder.resolve("c" + HOSTILE + ".croft");
        DType dtype = DType.opaque(HOSTILE, 8);
        Storage storage = Storage.allocate(8);
        Typed typed = new Typed(HOSTILE, HOSTILE);
        typed.attributes().put(HOSTILE, HOSTILE);
        TypedMap map = new TypedMap(HOSTILE);
        map.put(HOSTILE + "in", Tensor.of(1f));
        map.attributes().put(HOSTILE, new Symbol(HOSTILE));
        Map<Object, Object> state = new LinkedHashMap<>();
        state.put(HOSTILE, Tensor.of(1f, 2f));
        state.put(HOSTILE + "/same", state.get(HOSTILE));
        state.put(HOSTILE + "bits",
                Tensor.of(storage, dtype, 0, io.undercroft.storage.Shape.of(2, 2), new long[]{1, 2}));
        state.put("storage", new TypedStorage(storage, dtype));
        state.put("dtype", dtype);
        state.put("typed", typed);
        state.put("map", map);
        state.put("symbol", new Symbol(HOSTILE));
        state.put("text", HOSTILE);
        state.put("list", List.of(HOSTILE));
        state.put("small", Map.of(HOSTILE, HOSTILE));
        state.put(Tuple.of(HOSTILE), HOSTILE);
        state.put("object", new Typed("java:" + HOSTILE, List.of()));
        SaveOptions options = SaveOptions.defaults().message(HOSTILE).metadata(Map.of(HOSTILE, HOSTILE));
        Checkpoint.save(croft, state, options);
        CroftFile.open(croft).commit(state, options);
        flat = folder.resolve("f" + HOSTILE + ".safetensors");
        Checkpoint.save(flat, Map.of(HOSTILE, Tensor.of(1f), HOSTILE + "/2", Tensor.of(2f)),
                SaveOptions.defaults().metadata(Map.of(HOSTILE, HOSTILE)));
        other = folder.resolve("o" + HOSTILE + ".pt");
        Checkpoint.save(other, Map.of(HOSTILE, Tensor.of(1f), "t", HOSTILE));
    }

    private Invocation run(Object... args) {
        Invocation invocation = Invocation.of(args);
        for (String text : List.of(invocation.out(), invocation.err())) {
            assertThat(text.codePoints().filter(point -> point != '\n')).as(() -> List.of(args) + " printed " + text)
                    .allMatch(HostileTextTest::isHarmless);
            assertThat(text.lines()).as(() -> List.of(args) + " printed " + text)
                    .noneMatch(line -> line.startsWith("croft: no damage found"));
        }
        assertThat(invocation.code()).as(() -> List.of(args) + " said " + invocation.err()).isBetween(0, 4);
        shown.add(invocation.out() + invocation.err());
        return invocation;
    }

    private static boolean isHarmless(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR ->
                false;
            default -> true;
        };
    }

    private Path target(String suffix) {
        return folder.resolve("t" + HOSTILE + shown.size() + suffix);
    }

    @Test
    void readingCommands() {
        for (Path file : List.of(croft, flat, other)) {
            assertThat(run("inspect", file).out()).contains("\\u{1b}]0;title\\u{7}", "\\u{202e}");
            run("inspect", "--hash", file);
            assertThat(run("inspect", "--json", file).out()).doesNotContain("\\u{");
            run("verify", file);
            run("snapshots", file);
            run("snapshots", "--json", file);
            run("set", "list", file);
            run("inspect", file, "--format", HOSTILE);
            run("inspect", file, "--set", HOSTILE + "=" + HOSTILE);
            run("inspect", file, "--root", folder.resolve(HOSTILE));
            run("inspect", file, "--at", "7");
            run("inspect", file, "--map-location", HOSTILE);
        }
        run("formats");
    }

    @Test
    void savingCommands() throws IOException {
        for (Path file : List.of(croft, flat, other)) {
            for (String suffix : List.of(".croft", ".safetensors", ".npz", ".npy", ".gguf", ".pt", ".t7",
                    "." + HOSTILE)) {
                run("convert", file, target(suffix));
                run("convert", file, target(suffix), "--part", HOSTILE);
                run("convert", file, target(suffix), "--part", HOSTILE + "/none");
                run("convert", file, target(suffix), "--to", HOSTILE);
                run("convert", file, target(suffix), "--to-set", HOSTILE + "=" + HOSTILE);
            }
            run("append", croft, file, "--message", HOSTILE);
            run("append", target(".croft"), file);
            run("convert", file, target(".croft"), "--base", file);
            run("convert", file, target(".croft"), "--base", croft, "--report");
            run("convert", file, target(".croft"), "--base", folder.resolve(HOSTILE), "--report");
            run("convert", file, folder.resolve(HOSTILE).resolve("no.croft"));
            run("shm", "publish", file, HOSTILE);
        }
        run("shm", "remove", HOSTILE);
        run("shm", "list");
        run("shm", "gc");
    }

    @Test
    void copyingCommandsAndSets() throws IOException {
        Path set = target(".croftset");
        run("set", "create", set, croft);
        run("set", "create", set, flat);
        run("set", "list", set);
        for (Path file : List.of(croft, flat, other)) {
            run("convert", "--keep-bases", file, target(".croft"));
            run("convert", "--self-contained", file, target(".croft"));
            run("salvage", file, target(".croft"));
            run("compact", file, "--keep", "1");
        }
    }

    @Test
    void damageIsToldOfHostileNames() throws IOException {
        for (Path file : List.of(croft, flat, other)) {
            long size = Files.size(file);
            for (long at = 0; at < size; at += Math.max(1, size / 40)) {
                byte[] whole = Files.readAllBytes(file);
                byte[] damaged = whole.clone();
                damaged[(int) at] ^= 0x10;
                Files.write(file, damaged);
                run("verify", file);
                run("inspect", file);
                if (file.equals(croft)) {
                    run("salvage", file, target(".croft"));
                }
                Files.write(file, whole);
            }
            try (FileChannel cut = FileChannel.open(file, StandardOpenOption.WRITE)) {
                cut.truncate(size / 2);
            }
            run("verify", file);
        }
    }

    @Test
    void misuse() {
        run(HOSTILE);
        run("help", HOSTILE);
        run("inspect");
        run("inspect", folder.resolve(HOSTILE + "none"));
        run("inspect", croft, HOSTILE);
        run("inspect", croft, "--" + HOSTILE);
        run("inspect", folder);
        run("compact", croft, "--keep", HOSTILE);
        run("convert", croft, target(".croft"), "--sharing", HOSTILE, "--chunk", HOSTILE);
    }
}
