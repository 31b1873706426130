package io.undercroft.properties;

import io.undercroft.benchmarks.Report;
import io.undercroft.properties.crash.CrashesProof;
import io.undercroft.properties.crash.KillsProof;
import io.undercroft.properties.damage.BitFlipsProof;
import io.undercroft.properties.damage.TruncationsProof;
import io.undercroft.properties.faults.FaultsProof;
import io.undercroft.properties.formats.DifferentialProof;
import io.undercroft.properties.formats.ForeignProof;
import io.undercroft.properties.formats.FuzzProof;
import io.undercroft.properties.fuzzing.GuidedProof;
import io.undercroft.properties.laws.LawsProof;
import io.undercroft.properties.laws.ObjectsProof;
import io.undercroft.properties.laws.ScaleProof;
import io.undercroft.properties.mutants.MutantsProof;
import io.undercroft.properties.processes.CyclesProof;
import io.undercroft.properties.processes.RacesProof;
import io.undercroft.properties.processes.SharedPeer;
import io.undercroft.properties.processes.SoakProof;
import io.undercroft.properties.sets.ShardsProof;
import io.undercroft.properties.threads.SchedulesProof;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;

/// Runs a proof by name; `property-tests/run` starts it.
public final class Main {
    private static final String USAGE = """
            usage: property-tests/run NAME [--quick] [--seed N]
                   property-tests/run all [--quick]

              laws          saves random states, appends and compacts them, and checks every law
              foreign       writes random states in the formats of others, and checks every law
              fuzz          damages files in the formats of others: each must open or be refused
              guided        lets Jazzer look for inputs that break a reader; each must be read or refused.
                            -Dtargets=PATTERN in JAVA_TOOL_OPTIONS chooses readers
              differential  compares files with what PyTorch, safetensors, NumPy and gguf make of them;
                            UNDERCROFT_PYTHON names their Python
              objects       saves random states of Java objects, and opens files with hostile ones
              bitflips      flips every bit of a file, one after the other: each must be reported
              truncations   cuts files at every length: each must be reported
              crashes       cuts the power at every moment of a save, an append and a compaction
              faults        lets every call of every operation fail once, in each way that it can
              scale         builds an index of 2^24 tensors, opens it, finds names and copies it
              shards        saves and opens sets of 10 000 shards, and reads other layouts from them
              races         lets threads use, free and move storages at once
              schedules     runs threads in many chosen orders: retain and free, first touch, close, followers, commits
              soak          kills processes that share memory, and looks for torn reads and leftovers
              kills         kills processes at random moments of a save or an append over a file that is there
              cycles        opens and closes 10 000 times, and counts mappings and descriptors
              mutants       plants faults in copies of the sources: laws must notice them

              --quick       a part of it: about a minute
              --seed N      the random choices of an earlier run; each run prints its own""";

    private static final List<String> NAMES = List.of("laws", "foreign", "fuzz", "guided", "differential", "objects",
            "bitflips", "truncations", "crashes", "faults", "scale", "shards", "races", "schedules", "soak", "kills",
            "cycles", "mutants");

    private Main() {}

    /// Runs one proof and prints its report. Exits with 1 if it fails and with 2 if it is asked for wrongly.
    ///
    /// @param arguments as the usage says
    public static void main(String... arguments) throws IOException {
        if (List.of(arguments).equals(List.of("peer"))) {
            SharedPeer.main();
            return;
        }
        if (arguments.length == 2 && arguments[0].equals(KillsProof.SAVER)) {
            KillsProof.save(Path.of(arguments[1]));
            return;
        }
        if (List.of(arguments).contains("--help") || List.of(arguments).contains("-h")) {
            System.out.println(USAGE);
            return;
        }
        // For the script, which runs all of them but one that starts two dozen JVMs.
        if (List.of(arguments).equals(List.of("--names"))) {
            NAMES.stream().filter(name -> !name.equals("guided")).forEach(System.out::println);
            return;
        }
        try {
            Report report = run(List.of(arguments));
            report.print(System.out);
            if (!report.met()) {
                System.exit(1);
            }
        } catch (Misuse e) {
            System.err.println("property-tests: " + e.getMessage());
            System.exit(2);
        }
    }

    /// What was asked for is not there.
    private static final class Misuse extends Exception {
        private static final long serialVersionUID = 1;

        Misuse(String message) {
            super(message);
        }
    }

    private static Report run(List<String> arguments) throws IOException, Misuse {
        Effort effort = Effort.FULL;
        String name = "";
        for (Iterator<String> left = arguments.iterator(); left.hasNext();) {
            String argument = left.next();
            switch (argument) {
                case "--quick" -> effort = Effort.QUICK;
                case "--seed" -> System.setProperty("seed", seed(left));
                default -> name = name(argument, name);
            }
        }
        if (name.isEmpty()) {
            throw new Misuse("which proof? There are " + String.join(", ", NAMES));
        }
        return run(name, effort);
    }

    private static String name(String argument, String before) throws Misuse {
        if (argument.startsWith("-")) {
            throw new Misuse("there is no option '" + argument + "'; there are --quick and --seed N");
        }
        if (!NAMES.contains(argument)) {
            throw new Misuse("no proof is called '" + argument + "'; there are " + String.join(", ", NAMES));
        }
        if (!before.isEmpty()) {
            throw new Misuse("one proof at a time, not both " + before + " and " + argument);
        }
        return argument;
    }

    private static String seed(Iterator<String> left) throws Misuse {
        String seed = left.hasNext() ? left.next() : "";
        if (!seed.matches("-?\\d{1,18}")) {
            throw new Misuse("--seed is a whole number of at most 18 digits, not '" + seed + "'");
        }
        return seed;
    }

    private static Report run(String name, Effort effort) throws IOException {
        return switch (name) {
            case "laws" -> LawsProof.run(effort);
            case "foreign" -> ForeignProof.run(effort);
            case "fuzz" -> FuzzProof.run(effort);
            case "guided" -> GuidedProof.run(effort);
            case "differential" -> DifferentialProof.run(effort);
            case "objects" -> ObjectsProof.run(effort);
            case "bitflips" -> BitFlipsProof.run(effort);
            case "truncations" -> TruncationsProof.run(effort);
            case "crashes" -> CrashesProof.run(effort);
            case "faults" -> FaultsProof.run(effort);
            case "scale" -> ScaleProof.run(effort);
            case "shards" -> ShardsProof.run(effort);
            case "races" -> RacesProof.run(effort);
            case "schedules" -> SchedulesProof.run(effort);
            case "soak" -> SoakProof.run(effort);
            case "kills" -> KillsProof.run(effort);
            case "cycles" -> CyclesProof.run(effort);
            case "mutants" -> MutantsProof.run(effort);
            default -> throw new IllegalArgumentException(name);
        };
    }
}
