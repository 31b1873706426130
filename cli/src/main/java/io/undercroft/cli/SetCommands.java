package io.undercroft.cli;

import static io.undercroft.cli.internal.Table.left;
import static io.undercroft.cli.internal.Table.right;

import io.undercroft.cli.internal.Table;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.SnapshotInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/// The commands for sets of files, `croft set …`.
final class SetCommands extends Commands {
    private static final String SUFFIX = ".croftset";

    SetCommands(TextOutput out, CommandRunner run) {
        super(out, run);
        add("create",
                "Creates a set of .croft files. The set records the newest snapshot of each file, and can be opened "
                        + "as long as the files have these snapshots.",
                () -> List.of(Arguments.file("SET", "The .croftset file to write, in a directory above the files."),
                        Arguments.files(1, "FILE", "The .croft files, in their order."), Arguments.json()),
                this::create);
        add("list",
                "Opens all files of a set and lists them.",
                () -> List.of(Arguments.file("SET", "A .croftset file."),
                        Arguments.json()),
                this::list);
    }

    private int create(Arguments arguments) {
        Path set = arguments.path(0);
        if (!set.toString().endsWith(SUFFIX)) {
            return run.complain(
                    "%s: a set needs a separate file. Give SET a name that ends in %s".formatted(set, SUFFIX));
        }
        List<Path> files = arguments.paths(1);
        for (Path file : files) {
            int code = run.of(file, () -> {
                SnapshotInfo _ = IntegrityChecks.snapshot(file, arguments.openingOnMeta());
                return CommandRunner.OK;
            });
            if (code != CommandRunner.OK) {
                return code;
            }
        }
        return run.writing(set, () -> {
            ShardSet.save(set, files);
            return print(set, arguments);
        });
    }

    private int list(Arguments arguments) {
        Path set = arguments.path(0);
        return run.of(set, () -> {
            try {
                return print(set, arguments);
            } catch (FormatException e) {
                // Of a shard, the name would be another.
                if (e.code().equals("V12-SIGNATURE") && set.toString().equals(e.file())) {
                    throw noSet(set, arguments);
                }
                throw e;
            }
        });
    }

    /// Returns the exception for a file that can be opened and is no set.
    ///
    /// @throws IOException if it cannot be opened
    private static IllegalArgumentException noSet(Path file, Arguments arguments) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, arguments.openingOnMeta())) {
            return new IllegalArgumentException("this is no set but a file of the format " + checkpoint.format()
                    + "; croft set create makes a set of .croft files");
        }
    }

    private int print(Path set, Arguments arguments) throws IOException {
        Path directory = Objects.requireNonNull(set.toRealPath().getParent());
        try (ShardSet opened = ShardSet.open(set, arguments.openingOnMeta())) {
            Table table = table(opened, directory);
            run.print(arguments, all -> all.list("shards", opened.shards(), (json, shard) -> json
                    .member("file", directory.relativize(shard.path()).toString())
                    .member("snapshot", shard.snapshot().orElseThrow().commit())
                    .member("nbytes", Files.size(shard.path())).member("tensors", shard.names().size())
                    .member("storages", shard.storages().size())), table::print);
        }
        return CommandRunner.OK;
    }

    private static Table table(ShardSet opened, Path directory) throws IOException {
        Table table = new Table(left("shard"), right("snapshot"), right("file is"), right("tensors"),
                right("storages"));
        for (Checkpoint shard : opened.shards()) {
            table.row(directory.relativize(shard.path()).toString(),
                    Long.toString(shard.snapshot().orElseThrow().commit()), Text.bytes(Files.size(shard.path())),
                    Integer.toString(shard.names().size()), Integer.toString(shard.storages().size()));
        }
        return table;
    }
}
