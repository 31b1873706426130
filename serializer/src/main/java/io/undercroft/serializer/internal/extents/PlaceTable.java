package io.undercroft.serializer.internal.extents;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.Coding;
import io.undercroft.serializer.internal.extents.Extent.Place;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/// The places of bytes by their digests: a hash table in one array, which has 32 bytes for each entry. Files may have
/// millions of extents, and nearly all of them have a digest of their own. For use by one thread.
public final class PlaceTable {
    private static final int LEAST = 1 << 8;
    private static final int MOST = 1 << 28;
    /// Digest, offset, and length with the number of the file. The length of an entry that is not used is 0.
    private static final int WORDS = 4;
    private static final int LENGTH_BITS = 48;
    private static final long LENGTH = (1L << LENGTH_BITS) - 1;
    /// Random, so that no file can have digests that meet in one slot.
    private static final long[] FACTORS = new SplittableRandom().longs(2).map(factor -> factor | 1).toArray();

    private long[] entries;
    private int slots;
    private int count;
    /// How the bytes of places are stored that are not stored as they are. Other threads read it.
    private final Map<Place, Coding> codings = new ConcurrentHashMap<>();
    /// All places of the digests that have several.
    private final Map<Digest128, SortedSet<Place>> several = new HashMap<>();

    /// An empty table.
    ///
    /// @param expected the number of places that it probably gets
    public PlaceTable(int expected) {
        slots = LEAST;
        while (slots < MOST && slots < 2L * expected) {
            slots *= 2;
        }
        entries = new long[WORDS * slots];
    }

    /// Adds a place, unless it is there already. A table that is full stays as it is: bytes that are not found are
    /// written again.
    ///
    /// @param high the upper half of the digest
    /// @param low the lower half of the digest
    /// @param base the number of the file
    /// @param offset the first byte in the file
    /// @param length the number of bytes, at least 1 and less than 2^48
    void add(long high, long low, int base, long offset, long length) {
        int at = find(high, low);
        long last = ((long) base << LENGTH_BITS) | length;
        if (entries[at + 3] == 0) {
            if (count < MOST / 2) {
                put(at, high, low, offset, last);
                count++;
                grow();
            }
        } else if (entries[at + 2] != offset || entries[at + 3] != last) {
            several.computeIfAbsent(new Digest128(high, low), _ -> new TreeSet<>(List.of(place(at))))
                    .add(new Place(base, offset, length));
        }
    }

    /// Adds a place, as [#add(long, long, int, long, long)].
    ///
    /// @param digest the digest
    /// @param place the place
    void add(Digest128 digest, Place place) {
        add(digest.high(), digest.low(), place.base(), place.offset(), place.length());
    }

    /// Adds a place of coded bytes.
    ///
    /// @param digest the digest of the decoded bytes
    /// @param place the place
    /// @param coding the way in which they are stored, with the numbers of files as in places; null if as they are
    void add(Digest128 digest, Place place, @Nullable Coding coding) {
        add(digest, place);
        if (coding != null) {
            codings.put(place, coding);
        }
    }

    /// {@return how the bytes of a place are stored; null if as they are}
    ///
    /// @param place the place
    @Nullable
    Coding coding(Place place) {
        return codings.get(place);
    }

    /// {@return the places of bytes, in the order of preference}
    ///
    /// @param digest their digest
    Collection<Place> get(Digest128 digest) {
        int at = find(digest.high(), digest.low());
        if (entries[at + 3] == 0) {
            return List.of();
        }
        SortedSet<Place> all = several.get(digest);
        return all == null ? List.of(place(at)) : all;
    }

    private Place place(int at) {
        return new Place((int) (entries[at + 3] >>> LENGTH_BITS), entries[at + 2], entries[at + 3] & LENGTH);
    }

    /// Returns where the entry of a digest is, or where it would be.
    private int find(long high, long low) {
        int slot = (int) ((high * FACTORS[0] + low * FACTORS[1]) >>> Integer.SIZE) & (slots - 1);
        int at = WORDS * slot;
        while (entries[at + 3] != 0 && (entries[at] != high || entries[at + 1] != low)) {
            slot = (slot + 1) & (slots - 1);
            at = WORDS * slot;
        }
        return at;
    }

    private void put(int at, long high, long low, long offset, long last) {
        entries[at] = high;
        entries[at + 1] = low;
        entries[at + 2] = offset;
        entries[at + 3] = last;
    }

    private void grow() {
        if (3L * count < 2L * slots || slots == MOST) {
            return;
        }
        long[] before = entries;
        slots *= 2;
        entries = new long[WORDS * slots];
        for (int at = 0; at < before.length; at += WORDS) {
            if (before[at + 3] != 0) {
                put(find(before[at], before[at + 1]), before[at], before[at + 1], before[at + 2], before[at + 3]);
            }
        }
    }
}
