package io.undercroft.storage.internal.support;

import java.util.Comparator;
import java.util.Optional;
import java.util.function.ToIntFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

/// Finds names that are similar to an unknown name, for messages.
public final class NearNames {
    private static final int MOST_NAMED = 3;
    /// More or longer names are not compared.
    private static final int MOST_NAMES = 20_000;
    private static final int LONGEST_NAME = 128;
    /// The number of characters for which one edit is allowed.
    private static final int TYPO_RATE = 4;

    private NearNames() {}

    private record Candidate(String name, int distance) {}

    /// {@return a question for the end of a message, such as `; did you mean 'float32'?`; empty if no name is similar}
    ///
    /// @param wanted the name that was given
    /// @param names the names that exist
    public static Optional<String> question(String wanted, Iterable<String> names) {
        return question(wanted, names, name -> edits(wanted, name), name -> "'" + name + "'");
    }

    /// {@return a question for the end of a message; empty if no name is similar}
    ///
    /// @param wanted the name that was given
    /// @param names the names that exist
    /// @param distance the distance of a name from `wanted`, as [#edits]
    /// @param quoted quotes a name
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

    /// {@return the edit distance of two names: the least number of characters to insert, delete, replace or exchange
    /// with the next; 0 if only the case differs}
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
