package io.undercroft.cli.internal;

import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.Backing;
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
import java.util.HashMap;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// SHA-256 of storages and of tensors' elements in row-major order, as lower-case hexadecimal digits. Each is computed
/// once and remembered, tensors that use the same bytes together. A storage that has to be decoded is in memory
/// while its digests are computed, and no longer than until another one's are. Not for use by several threads.
public final class Sha256 implements AutoCloseable {
    /// The size in bytes of the parts in which a tensor that is not contiguous is copied, so that memory is bounded.
    private static final long COPY_LIMIT = 16L << 20;
    /// The number of bytes that are hashed at a time: a [MemorySegment] of more than 2 GiB has no buffer view.
    private static final long STEP = 64L << 20;

    private final Map<Range, String> ranges = new HashMap<>();
    private final IdentityHashMap<Tensor, String> copied = new IdentityHashMap<>();
    private final LastLoan loan = new LastLoan();

    /// A run of bytes of a storage; storages count by identity, as in their `equals`.
    private record Range(Storage storage, long from, long length) {}

    /// {@return the digest of all bytes, or null on the meta device, which has none}
    ///
    /// @param storage the storage
    public @Nullable String of(Storage storage) {
        return storage.device().isMeta() ? null : of(storage, 0, storage.nbytes());
    }

    /// {@return the digest of the elements in row-major order, or null if they have no bytes (on the meta device) or
    /// repeat stored bytes to more than 64 GiB}
    ///
    /// @param tensor the tensor, of any strides
    public @Nullable String of(Tensor tensor) {
        if (tensor.device().isMeta() || TensorBlocks.isEndless(tensor)) {
            return null;
        }
        if (!isOneRun(tensor)) {
            return copied.computeIfAbsent(tensor, _ -> ofElements(loan.on(tensor)));
        }
        long itemsize = tensor.dtype().itemsize();
        return tensor.numel() == 0
                ? of(tensor.storage(), 0, 0)
                : of(tensor.storage(), tensor.storageOffset() * itemsize, tensor.numel() * itemsize);
    }

    /// Frees the memory of what was decoded.
    @Override
    public void close() {
        loan.close();
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

    private String of(Storage storage, long from, long length) {
        return ranges.computeIfAbsent(new Range(storage, from, length), range -> {
            MessageDigest digest = digest();
            if (!storage.device().isCpu()) {
                storage.forEachPart(from, length, (_, part) -> update(digest, part));
            } else if (length > 0) {
                Storage bytes = loan.of(storage).storage();
                update(digest, bytes.segment().asSlice(from, length));
                bytes.backing().ifPresent(Backing::checkNotCut);
            }
            return hex(digest);
        });
    }

    /// Returns whether the elements are stored as they are and in row-major order, so that nothing needs copying.
    /// Elements narrower than a byte may start inside one.
    private static boolean isOneRun(Tensor tensor) {
        return tensor.isContiguous() && tensor.dtype().isByteSized() && !tensor.is(Tensor.Flag.CONJ)
                && !tensor.is(Tensor.Flag.NEG);
    }

    private static String ofElements(Tensor tensor) {
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

    private static void updateAtOnce(MessageDigest digest, Tensor tensor, MemorySegment buffer) {
        tensor.copyTo(buffer);
        update(digest, buffer);
    }

    private static void update(MessageDigest digest, MemorySegment bytes) {
        for (long at = 0; at < bytes.byteSize(); at += STEP) {
            digest.update(bytes.asSlice(at, Math.min(STEP, bytes.byteSize() - at)).asByteBuffer());
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
