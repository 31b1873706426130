package io.undercroft.storage;

import io.undercroft.storage.internal.support.Faults;
import io.undercroft.storage.spi.Backing;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.Optional;
import java.util.function.Supplier;

/// Work on many bytes of storages: keeps the storages reachable, so that their memory is not freed meanwhile, and names
/// the file if mapped bytes were truncated, or what was closed.
final class BulkAccess {
    /// The most bytes of repeated elements that are copied at once.
    private static final long REPEATED = 64 * 1024;

    private BulkAccess() {}

    /// Does some work on the bytes of a storage.
    static void run(Storage storage, Runnable work) {
        run(storage, storage, work);
    }

    /// Does some work on the bytes of two storages.
    static void run(Storage first, Storage second, Runnable work) {
        ask(first, second, () -> {
            work.run();
            return true;
        });
    }

    /// Computes a value from the bytes of a storage.
    static <T> T ask(Storage storage, Supplier<T> question) {
        return ask(storage, storage, question);
    }

    /// Computes a value from the bytes of two storages.
    static <T> T ask(Storage first, Storage second, Supplier<T> question) {
        boolean wasInterrupted = Thread.currentThread().isInterrupted();
        try {
            T answer = question.get();
            settle(first, second);
            return answer;
        } catch (InternalError error) {
            throw explained(error, first, second);
        } catch (IllegalStateException e) {
            Storage freed = first.referenceCount() == 0 ? first : second;
            throw freed.referenceCount() > 0 ? e : Faults.ended(e, wasInterrupted, freed::segment);
        }
    }

    /// Throws if the file behind a storage was cut: before its bytes are given to native code, in which a fault ends
    /// the JVM.
    static void probe(Storage storage) {
        if (storage.isFileBacked()) {
            lost(storage).ifPresent(lost -> {
                throw lost;
            });
        }
    }

    /// Checks the bytes of a tensor as [Storage#checkBytes] does, if its elements are all bytes of its storage. Done
    /// before bytes are copied, as nothing finds damage in a copy.
    static void check(Tensor tensor) {
        Storage storage = tensor.storage;
        boolean mayBeAll = !storage.isMeta() && tensor.numel() / Byte.SIZE <= storage.nbytes();
        if (mayBeAll && tensor.nbytes() == storage.nbytes()) {
            storage.segment();
            storage.checkBytes(0, storage.nbytes());
        }
    }

    /// Writes an element over and over.
    ///
    /// @param element its bytes, at least one
    /// @param target the destination; a whole number of elements
    static void repeat(MemorySegment element, MemorySegment target) {
        long itemsize = element.byteSize();
        long size = target.byteSize();
        if (itemsize == 1) {
            target.fill(element.get(ValueLayout.JAVA_BYTE, 0));
            return;
        }
        long block = Math.max(REPEATED / itemsize, 1) * itemsize;
        MemorySegment.copy(element, 0, target, 0, Math.min(itemsize, size));
        // The copied range doubles, but stays small enough for the processor's cache.
        for (long filled = itemsize; filled < size;) {
            long more = Math.min(Math.min(filled, block), size - filled);
            MemorySegment.copy(target, 0, target, filled, more);
            filled += more;
        }
    }

    /// Waits for a pending fault, and then checks whether a file was cut within a page, which causes none: the bytes
    /// behind the cut read as zeros. Until here the storages are reachable.
    private static void settle(Storage first, Storage second) {
        try {
            if (first.isFileBacked() || second.isFileBacked()) {
                Faults.throwPending();
                checkNotCut(first);
                if (second != first) {
                    checkNotCut(second);
                }
            }
        } finally {
            Reference.reachabilityFence(first);
            Reference.reachabilityFence(second);
        }
    }

    private static void checkNotCut(Storage storage) {
        Backing file = storage.backing().orElse(null);
        if (file != null) {
            file.checkNotCut();
        }
    }

    /// Returns the exception for a fault if one of the files was cut; otherwise throws the error again.
    private static RuntimeException explained(InternalError error, Storage first, Storage second) {
        if (!Faults.isFault(error)) {
            throw error;
        }
        RuntimeException lost = lost(first).or(() -> lost(second)).orElseThrow(() -> error);
        lost.addSuppressed(error);
        return lost;
    }

    /// A storage that the host cannot reach, or that was freed meanwhile, is not what the host could not read.
    private static Optional<RuntimeException> lost(Storage storage) {
        try {
            MemorySegment bytes = storage.segment();
            return bytes.isNative() ? MemoryProviders.lost(bytes) : Optional.empty();
        } catch (IllegalStateException _) {
            return Optional.empty();
        }
    }
}
