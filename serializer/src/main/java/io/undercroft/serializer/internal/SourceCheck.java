package io.undercroft.serializer.internal;

import io.undercroft.format.internal.Span;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.spi.Backing;
import io.undercroft.storage.spi.SparseSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Compares the bytes of storages with the checksums of the files that they are mapped from, where these have some.
public final class SourceCheck {
    /// The number of bytes that one thread checks at once.
    private static final long SHARE = 16L << 20;

    private SourceCheck() {}

    private record Share(Storage storage, long start, long end) {
        void check() {
            storage.checkBytes(start, end);
        }
    }

    /// Compares bytes of several storages, unless they were compared before; large ones with several threads. Those of
    /// a `.croft` file that are not kept are borrowed again, one storage after the other. Others that are not in memory
    /// are left out: they are compared when they are decoded.
    ///
    /// @param spans the bytes of each
    /// @throws IOException if reading fails
    /// @throws RuntimeException if bytes are damaged or a file was truncated
    public static void run(Map<Storage, List<Span>> spans) throws IOException {
        List<Share> shares = new ArrayList<>();
        spans.forEach((storage, parts) -> {
            if (storage.isDecodedOnDemand() && storage.source().orElse(null) instanceof SparseSource) {
                try (BorrowedBytes bytes = storage.borrow()) {
                    parts.forEach(part -> bytes.storage().checkBytes(part.start(), part.end()));
                }
            } else if (storage.backing().filter(Backing::hasChecksums).isPresent()) {
                parts.forEach(part -> share(storage, part.start(), part.end(), shares));
            }
        });
        Workers.share(shares, Share::check);
    }

    private static void share(Storage storage, long start, long end, List<Share> shares) {
        for (long at = start; at < end; at += SHARE) {
            shares.add(new Share(storage, at, Math.min(end, at + SHARE)));
        }
    }
}
