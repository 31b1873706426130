package io.undercroft.cli.internal;

import io.undercroft.storage.spi.NearNames;
import java.util.Collection;
import java.util.Comparator;
import java.util.Optional;

/// Finds the word that a mistyped one probably means.
public final class Nearest {
    /// One typing error is allowed for so many letters.
    private static final int LETTERS_PER_ERROR = 3;

    private Nearest() {}

    /// {@return the known word that is closest to what was typed, or nothing if none is close}
    ///
    /// @param typed the word that was typed
    /// @param known the existing words
    public static Optional<String> to(String typed, Collection<String> known) {
        int allowed = Math.max(1, typed.length() / LETTERS_PER_ERROR);
        Optional<String> nearest = known.stream().filter(word -> NearNames.edits(typed, word) <= allowed)
                .min(Comparator.comparingInt(word -> NearNames.edits(typed, word)));
        return nearest.isPresent() || typed.length() < LETTERS_PER_ERROR
                ? nearest
                : known.stream().filter(word -> word.startsWith(typed)).findFirst();
    }
}
