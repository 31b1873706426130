package io.undercroft.serializer.internal.planning;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.Span;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReachTest {
    private static final long FAR = 1L << 61;

    private static Storage storage(long nbytes) {
        return Storage.deferred(nbytes, () -> {
            throw new AssertionError("nobody reads a byte of " + nbytes);
        });
    }

    private static Reach reach(Tensor tensor) {
        return Reach.of(StateIndex.of(Map.of("a", tensor)));
    }

    @Test
    void bytesMayBeMoreThanBitsCanBeCounted() {
        Storage storage = storage(FAR + 100);
        Tensor tensor = Tensor.of(storage, DType.INT16, FAR / 2 + 5, Shape.of(3, 2), 10, 1);
        assertThat(reach(tensor).spans(storage)).containsExactly(new Span(FAR + 10, FAR + 10 + 2 * 22));
        Tensor all = Tensor.of(storage, DType.INT8, 0, Shape.of(FAR + 100), 1);
        assertThat(reach(all).spans(storage)).containsExactly(new Span(0, FAR + 100));
    }

    @Test
    void elementsSmallerThanAByteReachTheBytesThatTheyTouch() {
        Storage storage = storage(100);
        assertThat(reach(Tensor.of(storage, DType.QUINT2X4, 7, Shape.of(1), 1)).spans(storage))
                .containsExactly(new Span(1, 2));
        assertThat(reach(Tensor.of(storage, DType.QUINT2X4, 7, Shape.of(2), 1)).spans(storage))
                .containsExactly(new Span(1, 3));
        assertThat(reach(Tensor.of(storage, DType.QUINT4X2, 16, Shape.of(3), 1)).spans(storage))
                .containsExactly(new Span(8, 10));
    }
}
