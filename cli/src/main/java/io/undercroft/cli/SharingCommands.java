package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.inspect.SegmentList;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.serializer.Published;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// The commands for shared memory that is there.
final class SharingCommands {
    private static final String JSON = "--json";
    private static final String PUBLISHED = "--published";

    private final Output out;
    private final Run run;

    SharingCommands(Output out, Run run) {
        this.out = out;
        this.run = run;
    }

    SequencedMap<String, Subcommand> all() {
        SequencedMap<String, Subcommand> commands = new LinkedHashMap<>();
        commands.put("unpublish", new Subcommand(
                "Removes a name of shared memory. Processes that have it open keep its bytes.",
                () -> List.of(Arguments.sharedName()),
                this::unpublish));
        commands.put("shared", new Subcommand("Lists shared memory, and which processes hold it.",
                () -> List.of(flag(JSON, "Print one JSON object (docs/inspect-json.md).")), this::list));
        commands.put("gc", new Subcommand(
                "Removes what processes left in shared memory when they were killed, and lists it: names that were to "
                        + "last as "
                        + "long as a process that is dead now. A published name lasts until it is unpublished, also "
                        + "when its "
                        + "publisher has ended; those that no living process holds are told, and removed with "
                        + "--published.",
                () -> List.of(
                        flag(PUBLISHED, "Also remove published names that no living process holds: their publisher has "
                                + "ended or was killed, and so has every process that attached them."),
                        flag(JSON, "Print one JSON object (docs/inspect-json.md).")),
                this::collect));
        return commands;
    }

    private int unpublish(Arguments arguments) {
        String name = arguments.word(0);
        return run.of(() -> {
            if (!Published.unpublish(name)) {
                return run.complain("shared memory %s is not there; croft shared lists what is".formatted(name));
            }
            out.line("shared memory %s has lost its name; processes that have it open keep it".formatted(name));
            return Run.OK;
        });
    }

    private int list(Arguments arguments) {
        return run.of(() -> {
            List<SharedSegment> segments = SharedMemory.list();
            if (arguments.has(JSON)) {
                SegmentList.printJson(segments, out);
            } else if (segments.isEmpty()) {
                out.line("there is no shared memory");
            } else {
                SegmentList.print(segments, out);
            }
            return Run.OK;
        });
    }

    private int collect(Arguments arguments) {
        return run.of(() -> {
            List<SharedSegment> removed = new ArrayList<>(SharedMemory.gc());
            if (arguments.has(PUBLISHED)) {
                removed.addAll(Published.unpublishUnheld());
            }
            List<String> unheld = Published.unheld().stream().map(SharedSegment::name).toList();
            if (arguments.has(JSON)) {
                SegmentList.printCollectedJson(removed, unheld, out);
                return Run.OK;
            }
            if (removed.isEmpty()) {
                out.line("there was nothing to remove");
            } else {
                SegmentList.printRemoved(removed, out);
            }
            if (!unheld.isEmpty()) {
                out.line("published and held by no living process, left as they are: "
                        + String.join(", ", unheld) + "; croft gc --published removes them");
            }
            return Run.OK;
        });
    }
}
