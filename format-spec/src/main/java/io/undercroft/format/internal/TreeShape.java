package io.undercroft.format.internal;

/// A state tree that has to have a certain form.
///
/// @param in the tree
record TreeShape(StateTreeReader in) {
    /// Moves to the next token, which has to be of a kind.
    void require(StateToken kind) {
        StateToken token = in.next();
        if (token != kind) {
            throw Rule.V16_TREE.broken("the slices of the set have the value " + token + " in place of " + kind,
                    in.offset());
        }
    }

    /// Moves to the next token, which has to be a container of so many values.
    void require(StateToken kind, int count) {
        require(kind);
        if (in.count() != count) {
            throw Rule.V16_TREE.broken("the slices of the set have a " + kind + " of " + in.count() + " values, not "
                    + count, in.offset());
        }
    }
}
