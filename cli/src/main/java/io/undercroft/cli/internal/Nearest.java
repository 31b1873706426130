package io.undercroft.cli.internal;

import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/// The word that was probably meant by a mistyped one.
public final class Nearest {
    /// One typing error is allowed for so many letters.
    private static final int LETTERS_PER_ERROR = 3;

    private Nearest() {}

    /// {@return the known word that is closest to what was typed, or nothing if none is close}
    ///
    /// @param typed what was typed
    /// @param known the words that could have been meant
    public static Optional<String> to(String typed, Collection<String> known) {
        int allowed = Math.max(1, typed.length() / LETTERS_PER_ERROR);
        Optional<String> nearest = known.stream().filter(word -> distance(typed, word) <= allowed)
                .min(Comparator.comparingInt(word -> distance(typed, word)));
        return nearest.isPresent() || typed.length() < LETTERS_PER_ERROR
                ? nearest
                : known.stream().filter(word -> word.startsWith(typed)).findFirst();
    }

    /// Returns the fewest letters to insert, delete, replace or exchange with the next one to make one word of the
    /// other.
    private static int distance(String from, String to) {
        int[][] least = new int[from.length() + 1][to.length() + 1];
        for (int i = 0; i <= from.length(); i++) {
            for (int j = 0; j <= to.length(); j++) {
                if (i == 0 || j == 0) {
                    least[i][j] = i + j;
                    continue;
                }
                int replaced = least[i - 1][j - 1] + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                least[i][j] = Math.min(replaced, Math.min(least[i - 1][j], least[i][j - 1]) + 1);
                if (i > 1 && j > 1 && from.charAt(i - 1) == to.charAt(j - 2)
                        && from.charAt(i - 2) == to.charAt(j - 1)) {
                    least[i][j] = Math.min(least[i][j], least[i - 2][j - 2] + 1);
                }
            }
        }
        return least[from.length()][to.length()];
    }
}
