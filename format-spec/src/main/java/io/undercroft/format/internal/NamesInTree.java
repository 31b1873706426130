package io.undercroft.format.internal;

import io.undercroft.format.internal.index.NameTable;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/// Finds the names of tensors whose text is in the state tree, so that STRB need not repeat it: in a flat map of
/// tensors the key of a tensor is its name.
final class NamesInTree {
    private NamesInTree() {}

    /// Finds a name that is the last STRING before the TENSOR that it names.
    ///
    /// @param tree the state tree, well-formed
    /// @param names the names
    /// @param nameOf the number of the name that a tensor is shown by, or a negative number
    /// @return for each name where its text is in the tree, the first such place, or [NameTable#IN_STRB]
    static int[] places(MemorySegment tree, NameTable names, IntUnaryOperator nameOf) {
        int[] places = new int[(int) names.count()];
        Arrays.fill(places, NameTable.IN_STRB);
        StateTreeReader reader = new StateTreeReader(tree, Limits.DEFAULT, 0);
        MemorySegment text = MemorySegment.NULL;
        long end = 0;
        for (StateToken token = reader.next(); token != StateToken.DONE; token = reader.next()) {
            if (token == StateToken.STRING) {
                text = reader.bytes();
                end = reader.end();
            } else if (token == StateToken.TENSOR && end > 0) {
                int name = nameOf.applyAsInt(reader.index());
                if (name >= 0 && places[name] == NameTable.IN_STRB && names.isText(name, text)) {
                    places[name] = (int) (end - text.byteSize());
                }
            }
        }
        return places;
    }
}
