package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class StorageTest {
    @Nested
    class Bytes {
        @Test
        void aNewStorageIsZeroedAndAligned() {
            Storage storage = Storage.allocate(100);
            assertThat(storage.nbytes()).isEqualTo(100);
            assertThat(storage.segment().mismatch(MemorySegment.ofArray(new byte[100]))).isEqualTo(-1);
            assertThat(storage.segment().address() % Storage.ALIGNMENT).isZero();
            assertThat(storage.device()).isEqualTo(Device.CPU);
            assertThat(storage.isShared()).isFalse();
            assertThat(storage.filename()).isEmpty();
        }

        @Test
        void bytesAreReadAndWrittenByIndex() {
            Storage storage = Storage.copyOf((byte) 1, (byte) 2);
            storage.set(1, (byte) 9);
            assertThat(storage.get(1)).isEqualTo((byte) 9);
            storage.fill((byte) 7);
            assertThat(storage.get(0)).isEqualTo((byte) 7);
        }

        @Test
        void anIndexOutsideIsAnErrorThatNamesTheStorage() {
            Storage storage = Storage.allocate(2);
            assertThatThrownBy(() -> storage.get(2)).isInstanceOf(IndexOutOfBoundsException.class)
                    .hasMessage("byte 2 of storage #" + storage.id() + " of 2 bytes on cpu");
            assertThatThrownBy(() -> storage.set(-1, (byte) 0)).isInstanceOf(IndexOutOfBoundsException.class);
        }

        @Test
        void aNegativeSizeIsRefused() {
            assertThatThrownBy(() -> Storage.allocate(-1)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("a storage cannot have -1 bytes");
            assertThatThrownBy(() -> Storage.meta(-1)).isInstanceOf(IllegalArgumentException.class);
        }

        @Test
        void aStorageMayBeEmpty() {
            assertThat(Storage.allocate(0).copy().contentEquals(Storage.copyOf())).isTrue();
        }

        @Test
        void aWrappedSegmentIsNotCopied() {
            byte[] bytes = {1, 2};
            Storage.wrap(MemorySegment.ofArray(bytes)).set(0, (byte) 5);
            assertThat(bytes[0]).isEqualTo((byte) 5);
        }

        @Test
        void aCopyHasEqualBytesAndAnotherIdentity() {
            Storage storage = Storage.copyOf((byte) 1, (byte) 2);
            Storage copy = storage.copy();
            assertThat(copy.contentEquals(storage)).isTrue();
            assertThat(copy).isNotEqualTo(storage);
            assertThat(copy.id()).isNotEqualTo(storage.id());
            copy.set(0, (byte) 9);
            assertThat(storage.get(0)).isEqualTo((byte) 1);
            assertThat(copy.contentEquals(storage)).isFalse();
        }

        @Test
        void onlyAStorageOfTheSameSizeIsCopiedOver() {
            assertThatThrownBy(() -> Storage.allocate(2).copyFrom(Storage.allocate(3)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("cannot copy a storage of 3 bytes over one of 2");
        }

        @Test
        void aReadOnlyStorageIsNotWritten() {
            Storage storage = Storage.wrap(MemorySegment.ofArray(new byte[2]).asReadOnly());
            assertThat(storage.isReadOnly()).isTrue();
            assertThatThrownBy(() -> storage.set(0, (byte) 1)).isInstanceOf(UnsupportedOperationException.class)
                    .hasMessage(storage.describe() + " is read-only; open it copy-on-write or copy it to write");
            assertThatThrownBy(() -> storage.fill((byte) 1)).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> storage.copyFrom(Storage.allocate(2)))
                    .isInstanceOf(UnsupportedOperationException.class);
        }

        @Test
        void aMetaStorageHasASizeAndNoBytes() {
            Storage meta = Storage.meta(1L << 50);
            assertThat(meta.nbytes()).isEqualTo(1L << 50);
            assertThat(meta.isMaterialized() || meta.isShared() || meta.isReadOnly()).isFalse();
            assertThat(meta.filename()).isEmpty();
            assertThatThrownBy(meta::segment).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("has a size but no bytes");
            assertThat(meta.copy().device()).isEqualTo(Device.META);
        }

        @Test
        void whatAnAllocationTellsAStorageTells() {
            Allocation allocation = new Allocation(MemorySegment.ofArray(new byte[1]), Allocation.Sharing.SHARED,
                    "weights", () -> {});
            Storage storage = Storage.over(allocation);
            assertThat(storage.isShared()).isTrue();
            assertThat(storage.filename()).contains("weights");
        }
    }

    @Nested
    class Lifetime {
        private final AtomicInteger freed = new AtomicInteger();
        private final Arena arena = Arena.ofShared();

        private Allocation allocation(long nbytes) {
            return new Allocation(arena.allocate(nbytes), Allocation.Sharing.PRIVATE, null, () -> {
                freed.incrementAndGet();
                arena.close();
            });
        }

        @Test
        void theLastReleaseFrees() {
            Storage storage = Storage.over(allocation(8));
            assertThat(storage.retain()).isSameAs(storage);
            assertThat(storage.referenceCount()).isEqualTo(2);
            storage.release();
            assertThat(freed).hasValue(0);
            storage.release();
            assertThat(freed).hasValue(1);
            assertThat(storage.referenceCount()).isZero();
            assertThat(storage.describe()).isEqualTo("storage #" + storage.id() + " of 8 bytes on cpu (freed)");
        }

        @Test
        void aFreedStorageIsNeverTouchedAgain() {
            Storage storage = Storage.over(allocation(8));
            MemorySegment before = storage.segment();
            storage.release();
            assertThatThrownBy(() -> storage.get(0)).isInstanceOf(IllegalStateException.class)
                    .hasMessage("storage #" + storage.id() + " of 8 bytes was freed");
            assertThatThrownBy(() -> storage.set(0, (byte) 1)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(storage::segment).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(storage::copy).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(storage::retain).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> before.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        }

        @Test
        void aSecondReleaseIsAnErrorAndFreesNothing() {
            Storage storage = Storage.over(allocation(8));
            storage.release();
            assertThatThrownBy(storage::release).isInstanceOf(IllegalStateException.class);
            assertThat(freed).hasValue(1);
        }

        @Test
        void aDeferredStorageIsMadeAtFirstNeed() {
            AtomicInteger made = new AtomicInteger();
            Storage storage = Storage.deferred(8, () -> {
                made.incrementAndGet();
                return allocation(8);
            });
            assertThat(storage.nbytes()).isEqualTo(8);
            assertThat(storage.isMaterialized()).isFalse();
            assertThat(made).hasValue(0);
            storage.set(3, (byte) 5);
            assertThat(storage.get(3)).isEqualTo((byte) 5);
            assertThat(storage.isMaterialized()).isTrue();
            assertThat(made).hasValue(1);
        }

        @Test
        void aDeferredStorageThatNobodyNeededIsFreedWithoutBeingMade() {
            Storage storage = Storage.deferred(8, () -> {
                throw new AssertionError("must not be made");
            });
            storage.release();
            assertThatThrownBy(storage::segment).isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("was freed");
        }

        @Test
        void aDeferredStorageThatFailedCanBeTriedAgain() {
            AtomicInteger attempts = new AtomicInteger();
            Storage storage = Storage.deferred(8, () -> {
                if (attempts.incrementAndGet() == 1) {
                    throw new IllegalStateException("no memory yet");
                }
                return allocation(8);
            });
            assertThatThrownBy(storage::segment).hasMessage("no memory yet");
            assertThat(storage.segment().byteSize()).isEqualTo(8);
        }

        @Test
        void aDeferredAllocationOfTheWrongSizeIsGivenBack() {
            Storage storage = Storage.deferred(8, () -> allocation(7));
            assertThatThrownBy(storage::segment).isInstanceOf(IllegalStateException.class)
                    .hasMessage("an allocation of 7 bytes came where 8 were asked for");
            assertThat(freed).hasValue(1);
        }
    }

    @Nested
    class Races {
        private static final int THREADS = 8;
        private static final int ROUNDS = 200;

        @Test
        void racingThreadsMakeADeferredStorageOnce() throws Exception {
            for (int round = 0; round < ROUNDS; round++) {
                AtomicInteger made = new AtomicInteger();
                Storage storage = Storage.deferred(8, () -> {
                    made.incrementAndGet();
                    return Allocation.collected(MemorySegment.ofArray(new byte[8]));
                });
                List<MemorySegment> seen = atOnce(storage::segment);
                assertThat(made).hasValue(1);
                assertThat(seen).allSatisfy(segment -> assertThat(segment).isSameAs(seen.getFirst()));
            }
        }

        @Test
        void releaseRacingWithTheFirstNeedFreesExactlyWhatWasMade() throws Exception {
            for (int round = 0; round < ROUNDS; round++) {
                AtomicInteger made = new AtomicInteger();
                AtomicInteger freed = new AtomicInteger();
                Storage storage = Storage.deferred(8, () -> {
                    made.incrementAndGet();
                    return new Allocation(MemorySegment.ofArray(new byte[8]), Allocation.Sharing.PRIVATE, null,
                            freed::incrementAndGet);
                });
                AtomicInteger turn = new AtomicInteger();
                atOnce(() -> {
                    if (turn.getAndIncrement() % 2 == 0) {
                        return succeeds(storage::release);
                    }
                    return succeeds(storage::segment);
                });
                assertThat(storage.referenceCount()).isZero();
                assertThat(freed.get()).isEqualTo(made.get()).isLessThanOrEqualTo(1);
            }
        }

        @Test
        void racingReferencesFreeOnce() throws Exception {
            for (int round = 0; round < ROUNDS; round++) {
                AtomicInteger freed = new AtomicInteger();
                Storage storage = Storage.over(new Allocation(MemorySegment.ofArray(new byte[8]),
                        Allocation.Sharing.PRIVATE, null, freed::incrementAndGet));
                IntStream.range(1, THREADS).forEach(i -> storage.retain());
                assertThat(atOnce(() -> succeeds(storage::release))).containsOnly(true);
                assertThat(freed).hasValue(1);
                assertThat(storage.referenceCount()).isZero();
            }
        }

        private static boolean succeeds(Runnable action) {
            try {
                action.run();
                return true;
            } catch (IllegalStateException e) {
                return false;
            }
        }

        private static <T> List<T> atOnce(Callable<T> action) throws InterruptedException, ExecutionException {
            CyclicBarrier start = new CyclicBarrier(THREADS);
            try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
                Callable<T> together = () -> {
                    start.await();
                    return action.call();
                };
                List<T> results = new ArrayList<>();
                for (Future<T> result : threads.invokeAll(Collections.nCopies(THREADS, together))) {
                    results.add(result.get());
                }
                return results;
            }
        }
    }
}
