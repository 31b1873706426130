package io.undercroft.serializer.state;

import java.util.AbstractList;

/// A read-only list of numbers, texts, truth values and bytes that makes its elements of another form when they are
/// read, and does not keep them. It holds no container, tensor or storage, so that nothing needs to look through it for
/// these: [StateIndex] does not.
///
/// A list that is to be changed is copied first.
public abstract class ScalarList extends AbstractList<Object> {
    /// For subclasses.
    protected ScalarList() {}
}
