package io.undercroft.testsupport;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/// Bytes and states for tests.
public final class TestData {
    private TestData() {}

    /// {@return random bytes, the same for the same seed}
    public static byte[] noise(int nbytes, long seed) {
        byte[] bytes = new byte[nbytes];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /// {@return a map in the order of its entries}
    ///
    /// @param entries keys and values by turns
    public static Map<String, Object> map(Object... entries) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            map.put((String) entries[i], entries[i + 1]);
        }
        return map;
    }
}
