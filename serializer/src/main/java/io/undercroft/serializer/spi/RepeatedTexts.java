package io.undercroft.serializer.spi;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/// Counts the long texts and byte arrays of a state that a file without references to them holds once for each of their
/// places. One string in memory can be at so many places that such a file would fill the disk. Belongs to one thread.
public final class RepeatedTexts {
    /// How many characters and bytes may be repeated in all.
    private static final long MOST = 64L << 20;
    /// Shorter values, in characters or bytes, may come any number of times.
    private static final int LONG = 64;

    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private long repeated;

    /// A counter that has seen no text.
    public RepeatedTexts() {}

    /// Counts a text, by identity.
    ///
    /// @param text the text at its next place
    /// @throws IllegalArgumentException if the file would repeat too much; the message has no path
    public void add(String text) {
        add(text, text.length(), "characters");
    }

    /// Counts a byte array, by identity.
    ///
    /// @param bytes the bytes at their next place
    /// @throws IllegalArgumentException if the file would repeat too much; the message has no path
    public void add(byte[] bytes) {
        add(bytes, bytes.length, "bytes");
    }

    private void add(Object value, int length, String unit) {
        if (length < LONG || seen.add(value)) {
            return;
        }
        repeated += length;
        if (repeated > MOST) {
            throw new IllegalArgumentException("values such as this one of " + length + " " + unit
                    + " are in so many places that the file would repeat more than " + (MOST >> 20)
                    + " MiB; keep each once, in a list, and refer to it by its number");
        }
    }
}
