package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.state.StateIndex;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

/// Suggestions of similar names for a name that does not exist.
public final class NearNames {
    private static final int MOST_NAMED = 3;
    /// More names, or longer ones, are not looked at: this is only for a message.
    private static final int MOST_NAMES = 20_000;
    private static final int LONGEST_NAME = 128;
    /// Of how many characters one may be wrong.
    private static final int TYPO_RATE = 4;

    private NearNames() {}

    private record Candidate(String name, int distance) {}

    /// {@return a question to be appended to a message, or nothing if no name is near}
    ///
    /// @param wanted the name that was not found
    /// @param names the existing names
    public static String question(String wanted, Collection<String> names) {
        return question(wanted, names, UnaryOperator.identity());
    }

    /// {@return a question to be appended to a message, or nothing if no name is near}
    ///
    /// @param wanted the name that was not found
    /// @param names the existing names
    /// @param typing what is typed for a name
    public static String question(String wanted, Iterable<String> names, UnaryOperator<String> typing) {
        if (wanted.length() > LONGEST_NAME) {
            return "";
        }
        List<Candidate> near = StreamSupport.stream(names.spliterator(), false).limit(MOST_NAMES)
                .filter(name -> name.length() <= LONGEST_NAME)
                .map(name -> new Candidate(name,
                        Math.min(distance(wanted, name), distance(wanted, StateIndex.rawName(name)))))
                .filter(candidate -> candidate.distance <= (wanted.length() + 1) / TYPO_RATE)
                .sorted(Comparator.comparingInt(Candidate::distance)).limit(MOST_NAMED).toList();
        return near.isEmpty()
                ? ""
                : near.stream().map(candidate -> whole(typing.apply(candidate.name)))
                        .collect(Collectors.joining(" or ", "; did you mean ", "?"));
    }

    /// {@return a name in quotes, whole, so that it can be copied}
    ///
    /// @param name a name
    static String whole(String name) {
        return "'" + FormatException.printable(name) + "'";
    }

    /// A name that lacks the path before it, or has too much of one, is as near as can be.
    private static int distance(String wanted, String name) {
        boolean isTail = name.endsWith("/" + wanted) || wanted.endsWith("/" + name);
        return isTail || name.equalsIgnoreCase(wanted) ? 0 : edits(wanted, name);
    }

    /// Levenshtein's distance: the fewest characters to change, to add or to leave out.
    private static int edits(String from, String to) {
        int[] row = IntStream.rangeClosed(0, to.length()).toArray();
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.length(); j++) {
                int changed = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(changed, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}
