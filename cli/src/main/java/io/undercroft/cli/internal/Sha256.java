package io.undercroft.cli.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.ProgressListener;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.serializer.internal.analysis.LastBorrowed;
import io.undercroft.serializer.internal.analysis.Sizes;
import io.undercroft.serializer.internal.analysis.TensorBlocks;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// SHA-256 of storages and of tensors' elements in row-major order, as lower-case hexadecimal digits. Each is computed
/// once and remembered, tensors that use the same bytes together. A storage that has to be decoded is in memory
/// while its digests are computed, and no longer than until another one's are. What would take more than the budget,
/// is damaged or cannot be read has no digest. Not for use by several threads.
public final class Sha256 implements AutoCloseable {
    /// The size in bytes of the parts in which a tensor that is not contiguous is copied, so that memory is bounded.
    private static final long COPY_LIMIT = 16L << 20;
    /// The number of bytes that are hashed at a time: a [MemorySegment] of more than 2 GiB has no buffer view.
    private static final long STEP = 64L << 20;

    /// By the range of bytes, or by the tensor if its elements have to be gathered.
    private final Map<Object, Outcome> outcomes = new LinkedHashMap<>();
    private final ElementBudget budget;
    private final LastBorrowed borrowed = new LastBorrowed();
    private LongConsumer hashed = _ -> {};

    /// Computes nothing yet.
    ///
    /// @param budget the number of bytes that may be hashed
    public Sha256(ElementBudget budget) {
        this.budget = budget;
    }

    /// A run of bytes of a storage; storages count by identity, as in their `equals`.
    private record Range(Storage storage, long from, long length) {}

    /// A digest, or why there is none.
    ///
    /// @param digest the digest, or null
    /// @param problem why there is none, or null, also if that is known without reading bytes
    /// @param failure what was thrown when the bytes were read, or null if they were not
    public record Outcome(@Nullable String digest, @Nullable String problem, @Nullable RuntimeException failure) {
        /// That of what has no bytes, as on the meta device, and of tensors that are known not to be readable.
        public static final Outcome NONE = new Outcome(null, null, null);
    }

    /// {@return the digest of all bytes}
    ///
    /// @param storage the storage
    public Outcome of(Storage storage) {
        return storage.isMeta() ? Outcome.NONE : of(new Range(storage, 0, storage.nbytes()));
    }

    /// {@return the digest of the elements in row-major order}
    ///
    /// @param tensor the tensor, of any strides
    public Outcome of(Tensor tensor) {
        if (tensor.device().isMeta() || Unreadable.why(tensor).isPresent()) {
            return Outcome.NONE;
        }
        return isOneRun(tensor)
                ? of(range(tensor))
                : known(tensor, isGathered(tensor) ? TensorBlocks.nbytes(tensor) : Long.MAX_VALUE,
                        () -> ofElements(borrowed.checked(tensor)));
    }

    private Outcome known(Object hashedAsOne, long nbytes, Supplier<String> digest) {
        Outcome known = outcomes.get(hashedAsOne);
        if (known == null) {
            known = budget.take(nbytes) ? outcome(digest) : new Outcome(null, budget.refusal(), null);
            outcomes.put(hashedAsOne, known);
        }
        return known;
    }

    private static Outcome outcome(Supplier<String> digest) {
        try {
            return new Outcome(digest.get(), null, null);
        } catch (FormatException e) {
            return new Outcome(null, e.what() + " [" + e.code() + "]", e);
        } catch (MappingException e) {
            return new Outcome(null, e.getMessage(), e);
        }
    }

    /// {@return what may be hashed}
    public ElementBudget budget() {
        return budget;
    }

    /// {@return what was thrown where bytes were read, once for each message, by the messages}
    public SequencedMap<String, RuntimeException> failures() {
        SequencedMap<String, RuntimeException> failures = new LinkedHashMap<>();
        outcomes.values().stream().filter(each -> each.failure != null)
                .forEach(each -> failures.put(String.valueOf(each.problem), Objects.requireNonNull(each.failure)));
        return failures;
    }

    /// {@return how many storages and tensors have no digest, because the budget does not allow it}
    public long refused() {
        return outcomes.values().stream().filter(each -> budget.refusal().equals(each.problem)).count();
    }

    /// Elements narrower than a byte are packed across rows, so that only the whole has defined bytes, in memory.
    private static boolean isGathered(Tensor tensor) {
        return tensor.dtype().isByteSized() || TensorBlocks.nbytes(tensor) <= Math.max(COPY_LIMIT,
                tensor.storage().nbytes());
    }

    private static Range range(Tensor tensor) {
        long itemsize = tensor.dtype().itemsize();
        return tensor.numel() == 0
                ? new Range(tensor.storage(), 0, 0)
                : new Range(tensor.storage(), tensor.storageOffset() * itemsize, tensor.numel() * itemsize);
    }

    /// Computes and remembers digests.
    ///
    /// @param storages storages
    /// @param tensors tensors
    /// @param progress called with the number of bytes that were hashed
    public void computeAll(Collection<Storage> storages, Collection<Tensor> tensors, ProgressListener progress) {
        Set<Object> counted = new HashSet<>();
        long total = 0;
        for (Storage storage : storages) {
            boolean isNew = !storage.isMeta() && counted.add(new Range(storage, 0, storage.nbytes()));
            total = Sizes.sum(total, isNew ? storage.nbytes() : 0);
        }
        for (Tensor tensor : tensors) {
            boolean isNew = !tensor.device().isMeta() && counted.add(isOneRun(tensor) ? range(tensor) : tensor);
            total = Sizes.sum(total, isNew ? TensorBlocks.nbytes(tensor) : 0);
        }
        long all = Math.min(total, budget.most());
        long[] done = new long[1];
        hashed = nbytes -> {
            done[0] += nbytes;
            progress.onProgress(Math.min(done[0], all), all);
        };
        storages.forEach(this::of);
        tensors.forEach(this::of);
        hashed = _ -> {};
    }

    /// Frees the memory of what was decoded.
    @Override
    public void close() {
        borrowed.close();
    }

    /// {@return the digest of a whole file}
    ///
    /// @param file the file
    /// @throws IOException if it cannot be read
    public static String of(Path file) throws IOException {
        MessageDigest digest = digest();
        try (InputStream in = Files.newInputStream(file)) {
            in.transferTo(new DigestOutputStream(OutputStream.nullOutputStream(), digest));
        }
        return hex(digest);
    }

    private Outcome of(Range range) {
        return known(range, range.length, () -> computed(range));
    }

    private String computed(Range range) {
        Storage storage = range.storage;
        long from = range.from;
        long length = range.length;
        MessageDigest digest = digest();
        if (length > 0) {
            borrowed.checked(storage, from, length).forEachPart(from, length, (_, part) -> update(digest, part));
        }
        return hex(digest);
    }

    /// Returns whether the elements are stored as they are and in row-major order, so that nothing needs copying.
    /// Elements narrower than a byte may start inside one.
    private static boolean isOneRun(Tensor tensor) {
        return tensor.isContiguous() && tensor.dtype().isByteSized() && !tensor.is(Tensor.Flag.CONJ)
                && !tensor.is(Tensor.Flag.NEG);
    }

    private String ofElements(Tensor tensor) {
        MessageDigest digest = digest();
        long nbytes = tensor.dtype().nbytes(tensor.numel());
        // Elements narrower than a byte are packed across rows, so only the whole has defined bytes.
        long most = tensor.dtype().isByteSized() ? Math.max(COPY_LIMIT / tensor.itemsize(), 1) : tensor.numel();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment buffer = arena.allocate(Math.min(nbytes, tensor.dtype().nbytes(most)));
            TensorBlocks.forEach(List.of(tensor), most, parts -> {
                Tensor part = parts.getFirst();
                updateAtOnce(digest, part, buffer.asSlice(0, part.nbytes()));
                return true;
            });
        }
        return hex(digest);
    }

    private void updateAtOnce(MessageDigest digest, Tensor tensor, MemorySegment buffer) {
        tensor.copyTo(buffer);
        update(digest, buffer);
    }

    private void update(MessageDigest digest, MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at += STEP) {
            long length = Math.min(STEP, bytes.byteSize() - at);
            digest.update(bytes.asSlice(at, length).asByteBuffer());
            hashed.accept(length);
        }
    }

    private static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
    }

    private static String hex(MessageDigest digest) {
        return HexFormat.of().formatHex(digest.digest());
    }
}
