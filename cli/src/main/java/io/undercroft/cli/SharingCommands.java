package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;
import static io.undercroft.cli.Arguments.knownFile;

import io.undercroft.cli.internal.Savings;
import io.undercroft.cli.internal.Text;
import io.undercroft.cli.internal.TextOutput;
import io.undercroft.cli.internal.inspect.SegmentList;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.serializer.PublishedCheckpoint;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/// The commands for shared memory, `croft shm …`.
final class SharingCommands extends Commands {
    private static final String WRITABLE = "--writable";
    private static final String PUBLISHED = "--published";

    SharingCommands(TextOutput out, CommandRunner run) {
        super(out, run);
        add("publish",
                "Copies a file to shared memory, for other processes to attach. A published state with this name is "
                        + "replaced; processes that have it open keep their mapping.",
                () -> List.of(knownFile("FILE"), Arguments.sharedName(), Arguments.format(), Arguments.setting(),
                        Arguments.at(), Arguments.root(), Arguments.otherFile(),
                        Arguments.location(), Arguments.whole(), Arguments.sharing(), Arguments.allowDangerous(),
                        Arguments.allowPart(), Arguments.large(),
                        flag(WRITABLE,
                                "Do not let storages share equal bytes, so that processes can share what they write."),
                        flag(Saver.REPORT, "Report which bytes were written."), Arguments.json()),
                this::publish);
        add("list", "Lists shared memory, and which processes have it open.",
                () -> List.of(Arguments.json()), this::list);
        add("remove",
                "Removes a name of shared memory. Processes that have it open keep their mapping.",
                () -> List.of(Arguments.sharedName(), Arguments.json()),
                this::remove);
        add("gc",
                "Removes shared memory that killed processes left, and lists it. A published name lasts until it is "
                        + "removed, even if its publisher has ended. Published names that no running process has open "
                        + "are listed, and removed with --published.",
                () -> List.of(
                        flag(PUBLISHED, "Also remove published names that no running process has open."),
                        Arguments.json()),
                this::collect);
    }

    private int publish(Arguments arguments) {
        String name = arguments.word(1);
        if (arguments.has(WRITABLE) && arguments.has(Arguments.SHARING)) {
            return run.complain("with %s storages do not share bytes; leave out %s".formatted(WRITABLE,
                    Arguments.SHARING));
        }
        return saver.save(arguments.path(0), Path.of(name), arguments, (checkpoint, options) -> {
            run.noteUnusedRoot(checkpoint, arguments);
            try (PublishedCheckpoint published = PublishedCheckpoint.publish(name, checkpoint.tree(),
                    arguments.has(WRITABLE) ? options.writableInPlace() : options)) {
                run.say(arguments, "%s (%s, %s) -> shared memory %s (%s): %s".formatted(checkpoint.location(),
                        checkpoint.format(), Text.size(checkpoint), published.name(), Text.bytes(published.nbytes()),
                        Saver.contents(checkpoint) + Saver.leftOut(published.report())), json -> {
                            Saver.write(json, checkpoint, Saver.readable(checkpoint), checkpoint.storages().size());
                            json.member("name", published.name()).member("nbytes", published.nbytes());
                            Savings.write(json, published.report());
                        });
                explain(published.name(), arguments);
                saver.report(published.report(), arguments);
            }
            return saver.noteLeftOut(checkpoint, Path.of(name), arguments);
        });
    }

    private void explain(String name, Arguments arguments) {
        if (!arguments.has(Arguments.JSON)) {
            run.say(("Java opens it with PublishedCheckpoint.attach(\"%1$s\"), and on Linux it is the file "
                    + "/dev/shm/%1$s. It stays until: croft shm remove %1$s").formatted(name));
        }
    }

    private int remove(Arguments arguments) {
        String name = arguments.word(0);
        return run.of(() -> {
            if (!PublishedCheckpoint.unpublish(name)) {
                return run.fail(CommandRunner.MISSING,
                        "there is no shared memory %s; croft shm list shows all names".formatted(name));
            }
            run.say(arguments, "removed the name %s of shared memory; processes that have it open keep their mapping"
                    .formatted(name), json -> json.member("name", name));
            return CommandRunner.OK;
        });
    }

    private int list(Arguments arguments) {
        return run.of(() -> {
            List<SharedSegment> segments = SharedMemory.list();
            run.print(arguments, json -> SegmentList.write(json, segments),
                    text -> SegmentList.print(segments, text));
            return CommandRunner.OK;
        });
    }

    private int collect(Arguments arguments) {
        return run.of(() -> {
            List<SharedSegment> removed = new ArrayList<>(SharedMemory.gc());
            if (arguments.has(PUBLISHED)) {
                removed.addAll(PublishedCheckpoint.unpublishUnheld());
            }
            List<String> unheld = PublishedCheckpoint.unheld().stream().map(SharedSegment::name).toList();
            run.print(arguments, json -> SegmentList.write(json, removed).values("unheld", unheld), text -> {
                SegmentList.printRemoved(removed, text);
                if (!unheld.isEmpty()) {
                    text.line("published and held by no living process, left as they are: "
                            + String.join(", ", unheld) + "; croft shm gc --published removes them");
                }
            });
            return CommandRunner.OK;
        });
    }
}
