package io.undercroft.serializer.spi;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/// Counts the long texts of a state that a file without references to texts holds once for each of their places. One
/// string in memory can be at so many places that such a file would fill the disk. Belongs to one thread.
public final class RepeatedTexts {
    /// How many characters may be repeated in all.
    private static final long MOST = 64L << 20;
    /// Shorter texts, in characters, may come any number of times.
    private static final int LONG = 64;

    private final Set<String> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private long repeated;

    /// A counter that has seen no text.
    public RepeatedTexts() {}

    /// Counts a text, by identity.
    ///
    /// @param text the text at its next place
    /// @throws IllegalArgumentException if the file would repeat too much; the message has no path
    public void add(String text) {
        if (text.length() < LONG || seen.add(text)) {
            return;
        }
        repeated += text.length();
        if (repeated > MOST) {
            throw new IllegalArgumentException("texts such as this one of " + text.length()
                    + " characters are in so many places that the file would repeat more than " + (MOST >> 20)
                    + " MiB; keep each text once, in a list, and refer to it by its number");
        }
    }
}
