package io.undercroft.testsupport;

import io.undercroft.storage.Allocation;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.SparseSource;
import java.util.LinkedHashMap;
import java.util.List;
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

    /// {@return a storage of zeros that are known to be zeros; reading them is an error}
    public static Storage unstoredZeros(long nbytes) {
        return Storage.deferred(nbytes, new UnstoredZeros(nbytes));
    }

    private record UnstoredZeros(long nbytes) implements SparseSource {
        @Override
        public Allocation get() {
            throw new AssertionError("zeros are read");
        }

        @Override
        public List<Zeros> zeros() {
            return List.of(new Zeros(0, nbytes));
        }
    }
}
