package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BorrowedBytesTest {
    private final AtomicInteger made = new AtomicInteger();
    private final AtomicInteger live = new AtomicInteger();
    private final Storage decoded = Storage.decoded(8, () -> {
        made.incrementAndGet();
        live.incrementAndGet();
        MemorySegment bytes = MemorySegment.ofArray(new byte[]{1, 2, 3, 4, 5, 6, 7, 8});
        return new Allocation(bytes, Allocation.Sharing.PRIVATE, null, live::decrementAndGet);
    }, "a test");

    @Test
    void bytesThatAreDecodedForALoanGoWithIt() {
        try (BorrowedBytes borrowed = decoded.borrow()) {
            assertThat(borrowed.storage().get(3)).isEqualTo((byte) 4);
            assertThat(live).hasValue(1);
        }
        assertThat(live).hasValue(0);
        assertThat(decoded.isMaterialized()).isFalse();
        assertThat(decoded.isDecodedOnDemand()).isTrue();
    }

    @Test
    void aLoanThatIsClosedTwiceFreesOnce() {
        BorrowedBytes borrowed = decoded.borrow();
        borrowed.close();
        borrowed.close();
        assertThat(live).hasValue(0);
    }

    @Test
    void bytesThatWereNeededBeforeAreLentAndStay() {
        assertThat(decoded.get(0)).isEqualTo((byte) 1);
        assertThat(decoded.isDecodedOnDemand()).isFalse();
        try (BorrowedBytes borrowed = decoded.borrow()) {
            assertThat(borrowed.storage()).isSameAs(decoded);
        }
        assertThat(made).hasValue(1);
        assertThat(live).hasValue(1);
        decoded.release();
        assertThat(live).hasValue(0);
    }

    @Test
    void aStorageThatIsBorrowedAgainAndAgainKeepsItsBytes() {
        for (int i = 0; i < 100; i++) {
            try (BorrowedBytes borrowed = decoded.borrow()) {
                assertThat(borrowed.storage().get(7)).isEqualTo((byte) 8);
            }
        }
        assertThat(made).hasValue(5);
        assertThat(live).hasValue(1);
    }

    @Test
    void aSliceAndATensorAreOnTheBorrowedBytes() {
        Storage slice = decoded.slice(4, 4);
        Tensor tensor = Tensor.of(slice, DType.UINT8, 1, Shape.of(2), 1);
        try (BorrowedBytes borrowed = slice.borrow()) {
            assertThat(borrowed.storage().get(0)).isEqualTo((byte) 5);
            assertThat(borrowed.on(tensor).getLong(1)).isEqualTo(7);
            assertThat(decoded.isMaterialized()).isFalse();
            assertThatIllegalArgumentException().isThrownBy(() -> borrowed.on(Tensor.of(1f)));
        }
        assertThat(live).hasValue(0);
        assertThat(decoded.referenceCount()).isEqualTo(2);
    }

    @Test
    void anyOtherStorageLendsWhatItHas() {
        Storage plain = Storage.allocate(4);
        try (BorrowedBytes borrowed = plain.borrow()) {
            assertThat(borrowed.storage()).isSameAs(plain);
        }
        assertThat(plain.referenceCount()).isEqualTo(1);
        Storage deferred = Storage.deferred(4, () -> Allocation.collected(MemorySegment.ofArray(new byte[4])));
        assertThat(deferred.isDecodedOnDemand()).isFalse();
        try (BorrowedBytes borrowed = Storage.meta(4).borrow()) {
            assertThat(borrowed.storage().isMeta()).isTrue();
        }
    }

    @Test
    void aFreedStorageLendsNothing() {
        decoded.release();
        assertThat(decoded.isDecodedOnDemand()).isFalse();
        assertThatThrownBy(decoded::borrow).isInstanceOf(IllegalStateException.class).hasMessageContaining("freed");
        assertThat(made).hasValue(0);
    }
}
