package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import java.io.EOFException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/// The bases of all snapshots of a file, each opened and checked once (rule V18).
final class CheckedBases {
    private final BaseFiles files;
    private final Limits limits;
    private final Scan scan;
    private final Map<BaseRecord, Optional<ByteSource>> opened = new HashMap<>();
    private final Map<String, Digest128> digests = new HashMap<>();

    CheckedBases(BaseFiles files, Limits limits, Scan scan) {
        this.files = files;
        this.limits = limits;
        this.scan = scan;
    }

    /// {@return the bytes of a base, or nothing if they cannot be verified}
    ///
    /// @throws FormatException by rule V18 if it is not there or not the one that was meant; at the first call only
    Optional<ByteSource> open(BaseRecord base) throws IOException {
        Optional<ByteSource> before = opened.putIfAbsent(base, Optional.empty());
        if (before != null) {
            return before;
        }
        Optional<ByteSource> file = files.open(base);
        if (file.isPresent()) {
            check(base, file.get());
            opened.put(base, file);
        }
        return file;
    }

    private void check(BaseRecord base, ByteSource file) throws IOException {
        try {
            if (base.kind() == BaseKind.CROFT) {
                checkDepth(base, base.open(file, limits));
                return;
            }
            base.check(file);
            if (!digest(base, file).equals(base.digest())) {
                throw base.broken("has other bytes than those that were meant");
            }
        } catch (EOFException e) {
            throw base.broken("became shorter while it was read");
        } catch (FormatException e) {
            throw Rule.of(e) == Rule.V18_BASE ? e : base.broken("is itself at fault: " + e.getMessage());
        }
    }

    /// Snapshots may name different contents by one path, of which only one can be there.
    private Digest128 digest(BaseRecord base, ByteSource file) throws IOException {
        Digest128 known = digests.get(base.path());
        Digest128 digest = known == null ? scan.digest(file, 0, base.length()) : known;
        digests.put(base.path(), digest);
        return digest;
    }

    private static void checkDepth(BaseRecord base, Snapshot named) {
        if (named.depth() != base.depth()) {
            throw base.broken("has depth " + named.depth() + ", not " + base.depth());
        }
    }
}
