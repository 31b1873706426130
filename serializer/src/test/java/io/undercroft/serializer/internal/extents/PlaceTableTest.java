package io.undercroft.serializer.internal.extents;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.Digest128;
import io.undercroft.serializer.internal.extents.Extent.Place;
import org.junit.jupiter.api.Test;

class PlaceTableTest {
    private static final int MANY = 10_000;

    private final PlaceTable table = new PlaceTable(0);

    @Test
    void placesAreFoundByAllOfTheirDigest() {
        for (int i = 0; i < MANY; i++) {
            table.add(new Digest128(i, -i), new Place(i % 3, 64L * i, i + 1));
        }
        for (int i = 0; i < MANY; i++) {
            assertThat(table.get(new Digest128(i, -i))).containsExactly(new Place(i % 3, 64L * i, i + 1));
            assertThat(table.get(new Digest128(i, 1 - i))).isEmpty();
        }
        assertThat(table.get(new Digest128(MANY, -MANY))).isEmpty();
    }

    @Test
    void severalPlacesOfOneDigestAreInTheOrderOfPreference() {
        Digest128 digest = new Digest128(5, 7);
        Place last = new Place(1, 0, 10);
        Place first = new Place(Place.THIS_FILE, 64, 10);
        Place second = new Place(Place.THIS_FILE, (1L << 60) + 64, 1L << 30);
        table.add(digest, last);
        table.add(digest, second);
        table.add(digest, first);
        table.add(digest, second);
        assertThat(table.get(digest)).containsExactly(first, second, last);
    }

    @Test
    void aPlaceThatIsAddedTwiceIsThereOnce() {
        Digest128 digest = new Digest128(0, 0);
        table.add(digest, new Place(2, 0, 1));
        table.add(digest, new Place(2, 0, 1));
        assertThat(table.get(digest)).containsExactly(new Place(2, 0, 1));
    }
}
