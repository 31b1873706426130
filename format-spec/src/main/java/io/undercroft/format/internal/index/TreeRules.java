package io.undercroft.format.internal.index;

import io.undercroft.format.internal.Rule;
import io.undercroft.format.internal.StateToken;
import io.undercroft.format.internal.StateTreeReader;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/// Walks the state tree and the metadata once, so that later readers can rely on them.
public final class TreeRules {
    private TreeRules() {}

    /// A state tree is well-formed and names only what is there.
    ///
    /// @param tensors the number of tensors
    /// @param storages the number of storages
    /// @param dtypes the number of element types
    public static void checkState(StateTreeReader tree, long tensors, long storages, long dtypes) {
        for (StateToken token = tree.next(); token != StateToken.DONE; token = tree.next()) {
            switch (token) {
                case TENSOR -> below(tree, tree.index(), tensors);
                case DTYPE -> below(tree, tree.index(), dtypes);
                case STORAGE -> {
                    below(tree, tree.index(), storages);
                    below(tree, tree.storageDType(), dtypes);
                }
                default -> {
                    // The reader itself has checked everything else.
                }
            }
        }
    }

    private static void below(StateTreeReader tree, int index, long count) {
        if (index >= count) {
            throw Rule.V10_INDEX.broken("the state tree names number " + index + " of " + count, tree.offset());
        }
    }

    /// Metadata is one map from strings to strings, its keys sorted, none twice. (Sorted, so that this needs no table
    /// of the keys, and so that equal metadata has equal bytes.)
    static void checkMetadata(StateTreeReader metadata) {
        expect(metadata, StateToken.MAP);
        @Nullable
        MemorySegment before = null;
        for (int entries = metadata.count(); entries > 0; entries--) {
            expect(metadata, StateToken.STRING);
            MemorySegment key = metadata.bytes();
            if (before != null && StrictUtf8.compare(before, key) >= 0) {
                throw Rule.V16_TREE.broken("a key of the metadata is not greater than the one before it",
                        metadata.offset());
            }
            before = key;
            expect(metadata, StateToken.STRING);
        }
        expect(metadata, StateToken.END);
        expect(metadata, StateToken.DONE);
    }

    private static void expect(StateTreeReader metadata, StateToken expected) {
        StateToken token = metadata.next();
        if (token != expected) {
            throw Rule.V16_TREE.broken("the metadata has " + token + " where " + expected + " must be",
                    metadata.offset());
        }
    }
}
