package io.undercroft.serializer.internal.tree;

import java.util.AbstractList;

/// A read-only list of numbers, texts, truth values and bytes that creates its elements when they are read, and does
/// not keep them. It has no containers, tensors or storages, so that [StateIndex] does not search it.
///
/// Copy the list to change it.
public abstract class ScalarList extends AbstractList<Object> {
    /// For subclasses.
    protected ScalarList() {}
}
