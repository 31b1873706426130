package io.undercroft.storage.spi;

import java.util.Comparator;
import java.util.Optional;
import java.util.function.ToIntFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/// Finds existing names that are similar to one that does not exist, for messages.
public final class NearNames {
    private static final int MOST_NAMED = 3;
    /// More names, or longer ones, are not compared: this is only for a message.
    private static final int MOST_NAMES = 20_000;
    private static final int LONGEST_NAME = 128;
    /// Of how many characters one may be wrong.
    private static final int TYPO_RATE = 4;

    private NearNames() {}

    private record Candidate(String name, int distance) {}

    /// {@return a question for the end of a message, such as `; did you mean 'float32'?`; nothing if no name is near}
    ///
    /// @param wanted the name that was given
    /// @param names the names that exist
    public static Optional<String> question(String wanted, Iterable<String> names) {
        return question(wanted, names, name -> edits(wanted, name), name -> "'" + name + "'");
    }

    /// {@return a question for the end of a message, or nothing if no name is near}
    ///
    /// @param wanted the name that was given
    /// @param names the names that exist
    /// @param distance how far a name is from the one that was given, as [#edits] counts it
    /// @param quoted how a name is shown
    public static Optional<String> question(String wanted, Iterable<String> names, ToIntFunction<String> distance,
            UnaryOperator<String> quoted) {
        if (wanted.length() > LONGEST_NAME) {
            return Optional.empty();
        }
        String near = StreamSupport.stream(names.spliterator(), false).limit(MOST_NAMES)
                .filter(name -> name.length() <= LONGEST_NAME)
                .map(name -> new Candidate(name, distance.applyAsInt(name)))
                .filter(candidate -> candidate.distance <= (wanted.length() + 1) / TYPO_RATE)
                .sorted(Comparator.comparingInt(Candidate::distance)).limit(MOST_NAMED)
                .map(candidate -> quoted.apply(candidate.name)).collect(Collectors.joining(" or "));
        return near.isEmpty() ? Optional.empty() : Optional.of("; did you mean " + near + "?");
    }

    /// {@return the fewest characters to insert, delete, replace or exchange with the next one to make one name of the
    /// other; 0 if only the case differs}
    ///
    /// @param from a name
    /// @param to another name
    public static int edits(String from, String to) {
        if (from.equalsIgnoreCase(to)) {
            return 0;
        }
        int[][] rows = new int[3][to.length() + 1];
        for (int i = 0; i <= from.length(); i++) {
            int[] row = rows[i % 3];
            int[] before = rows[(i + 2) % 3];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                if (i == 0) {
                    row[j] = j;
                    continue;
                }
                int replaced = before[j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(replaced, 1 + Math.min(before[j], row[j - 1]));
                boolean areExchanged = i > 1 && j > 1 && from.charAt(i - 1) == to.charAt(j - 2)
                        && from.charAt(i - 2) == to.charAt(j - 1);
                if (areExchanged) {
                    row[j] = Math.min(row[j], 1 + rows[(i + 1) % 3][j - 2]);
                }
            }
        }
        return rows[from.length() % 3][to.length()];
    }
}
