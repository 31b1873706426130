package io.undercroft.cli;

import static io.undercroft.cli.Arguments.flag;

import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.inspect.SegmentList;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.serializer.Published;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/// The commands for shared memory that is there.
final class SharingCommands {
    private static final String JSON = "--json";

    private final Output out;
    private final Run run;

    SharingCommands(Output out, Run run) {
        this.out = out;
        this.run = run;
    }

    SequencedMap<String, Subcommand> all() {
        SequencedMap<String, Subcommand> commands = new LinkedHashMap<>();
        commands.put("unpublish", new Subcommand(
                "Takes a name of shared memory away. Who has it open keeps it.",
                () -> List.of(Arguments.sharedName()),
                this::unpublish));
        commands.put("shared", new Subcommand("Lists shared memory, and which processes hold it.",
                () -> List.of(flag(JSON, "Print one JSON object (docs/inspect-json.md).")),
                arguments -> list(SharedMemory::list, "there is no shared memory", arguments)));
        commands.put("gc", new Subcommand(
                "Removes shared memory that belongs to nobody any more, as its processes were killed, and lists it.",
                () -> List.of(flag(JSON, "Print one JSON object (docs/inspect-json.md).")),
                arguments -> list(SharedMemory::gc, "there was nothing to remove", arguments)));
        return commands;
    }

    private int unpublish(Arguments arguments) {
        String name = arguments.word(0);
        return run.of(() -> {
            if (!Published.unpublish(name)) {
                return run.complain("shared memory %s is not there; croft shared lists what is".formatted(name));
            }
            out.line("shared memory %s has lost its name; who has it open keeps it".formatted(name));
            return Run.OK;
        });
    }

    private interface Listing {
        List<SharedSegment> segments() throws Exception;
    }

    private int list(Listing listing, String none, Arguments arguments) {
        return run.of(() -> {
            List<SharedSegment> segments = listing.segments();
            if (arguments.has(JSON)) {
                SegmentList.printJson(segments, out);
            } else if (segments.isEmpty()) {
                out.line(none);
            } else {
                SegmentList.print(segments, out);
            }
            return Run.OK;
        });
    }
}
