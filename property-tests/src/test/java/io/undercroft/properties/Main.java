package io.undercroft.properties;

import io.undercroft.benchmarks.Report;
import java.io.IOException;
import java.util.List;
import java.util.Set;

/// Runs a proof by name; `property-tests/run` starts it.
final class Main {
    private static final String USAGE = """
            usage: property-tests/run NAME [--quick]

              laws         saves random states, appends and compacts them, and checks every law
              bitflips     flips every bit of a file, one after the other: each must be reported
              truncations  cuts files at every length: each must be reported
              crashes      cuts the power at every moment of a save, an append and a compaction
              scale        builds an index of 2^24 tensors, opens it, finds names and copies it
              races        lets threads use, free and move storages at once

              --quick      a part of it: less than a minute""";

    private Main() {}

    /// Runs one proof and prints its report. Exits with 1 if it fails and with 2 if it is asked for wrongly.
    ///
    /// @param arguments as the usage says
    public static void main(String... arguments) throws IOException {
        List<String> given = List.of(arguments);
        List<String> names = given.stream().filter(argument -> !argument.startsWith("--")).toList();
        List<String> options = given.stream().filter(argument -> argument.startsWith("--")).toList();
        if (names.size() != 1 || !Set.of("--quick").containsAll(options)) {
            fail();
        }
        Report report = run(names.getFirst(), options.isEmpty() ? Effort.FULL : Effort.QUICK);
        report.print(System.out);
        if (!report.met()) {
            System.exit(1);
        }
    }

    private static Report run(String name, Effort effort) throws IOException {
        return switch (name) {
            case "laws" -> LawsProof.run(effort);
            case "bitflips" -> BitFlipsProof.run(effort);
            case "truncations" -> TruncationsProof.run(effort);
            case "crashes" -> CrashesProof.run(effort);
            case "scale" -> ScaleProof.run(effort);
            case "races" -> RacesProof.run(effort);
            default -> fail();
        };
    }

    private static Report fail() {
        System.err.println(USAGE);
        System.exit(2);
        throw new IllegalStateException("unreachable");
    }
}
