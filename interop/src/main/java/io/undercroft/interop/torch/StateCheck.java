package io.undercroft.interop.torch;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/// Looks over what a pickle has built before anyone else sees it, without recursion.
///
/// - Containers nest no deeper than a `.croft` file could hold.
/// - Written out without sharing, the state is not absurdly larger than it is with it: sixty tuples, each holding the
///   one before twice, would be 2^60 values for code that walks them. A cycle counts once.
/// - Nothing is left in it that stands for no value: a tensor that was never filled, and in a strict pickle a function
///   or a class.
final class StateCheck {
    /// The maximum number of additional values of a state when shared values are counted at every place.
    private static final long MOST_REPEATED = 1L << 24;

    private final boolean isStrict;
    private final Consumer<Tensor> tensors;
    private final IdentityHashMap<Object, Frame> seen = new IdentityHashMap<>();
    private long values;

    private StateCheck(boolean isStrict, Consumer<Tensor> tensors) {
        this.isStrict = isStrict;
        this.tensors = tensors;
    }

    /// A container that is being walked, or was.
    private static final class Frame {
        /// Null once all were walked: what was seen is remembered until the end, and needs no iterator.
        private @Nullable Iterator<? extends @Nullable Object> rest;
        private int height = 1;
        private long expanded = 1;
        private boolean open = true;

        Frame(Iterator<? extends @Nullable Object> children) {
            this.rest = children;
        }

        void take(Frame child) {
            height = Math.max(height, child.height + 1);
            expanded = saturatedSum(expanded, child.expanded);
        }
    }

    /// Checks a state.
    ///
    /// @param state what the pickle has built
    /// @param isStrict whether functions and classes are refused
    /// @param tensors is shown every tensor
    /// @throws FormatException if it is not fit to be handed on
    static void check(@Nullable Object state, boolean isStrict, Consumer<Tensor> tensors) {
        try {
            new StateCheck(isStrict, tensors).walk(state);
        } catch (PickleFault refused) {
            throw refused.at(" in what the pickle builds", FormatException.NO_OFFSET);
        }
    }

    private void walk(@Nullable Object state) {
        Frame root = new Frame(Collections.singleton(state).iterator());
        Deque<Frame> open = new ArrayDeque<>();
        open.push(root);
        while (!open.isEmpty()) {
            Frame frame = open.element();
            Iterator<? extends @Nullable Object> rest = frame.rest;
            if (rest != null && rest.hasNext()) {
                Frame child = visit(frame, rest.next());
                if (child != null) {
                    open.push(child);
                }
                continue;
            }
            open.pop();
            frame.open = false;
            frame.rest = null;
            if (!open.isEmpty()) {
                checkDepth(frame);
                open.element().take(frame);
            }
        }
        if (root.expanded > saturatedSum(MOST_REPEATED, values)) {
            throw PickleFault.because("TORCH-SHARED",
                    "containers hold each other so often that walking them would take "
                            + (root.expanded == Long.MAX_VALUE ? "more than 2^62" : root.expanded) + " steps",
                    "If it holds objects of a program, such as a plot, save only the state_dict() in Python; else the "
                            + "file is made to mislead");
        }
    }

    /// Looks at a value; returns its frame if it is a container that was not seen before.
    private @Nullable Frame visit(Frame parent, @Nullable Object value) {
        values++;
        if (isEmpty(value)) {
            parent.height = Math.max(parent.height, 2);
            parent.expanded = saturatedSum(parent.expanded, 1);
            return null;
        }
        Iterator<? extends @Nullable Object> children = children(value);
        if (children == null) {
            parent.expanded = saturatedSum(parent.expanded, 1);
            return null;
        }
        Frame known = seen.get(value);
        if (known == null) {
            Frame fresh = new Frame(children);
            seen.put(value, fresh);
            return fresh;
        }
        if (known.open) {
            // A cycle: the container holds itself.
            parent.expanded = saturatedSum(parent.expanded, 1);
        } else {
            parent.take(known);
        }
        return null;
    }

    private static boolean isEmpty(@Nullable Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.isEmpty() && (!(map instanceof TypedMap typed) || typed.attributes().isEmpty());
        }
        return value instanceof Collection<?> elements && elements.isEmpty();
    }

    /// One iterator after another. There may be very many maps, so this is small.
    private record Chain(Iterator<? extends @Nullable Object> first, Iterator<? extends @Nullable Object> second)
            implements
                Iterator<@Nullable Object> {
        @Override
        public boolean hasNext() {
            return first.hasNext() || second.hasNext();
        }

        @Override
        public @Nullable Object next() {
            return first.hasNext() ? first.next() : second.next();
        }
    }

    private @Nullable Iterator<? extends @Nullable Object> children(@Nullable Object value) {
        if (value instanceof Map<?, ?> map) {
            Iterator<?> entries = new Chain(map.keySet().iterator(), map.values().iterator());
            return map instanceof TypedMap typed && !typed.attributes().isEmpty()
                    ? new Chain(entries, typed.attributes().values().iterator())
                    : entries;
        }
        if (value instanceof Collection<?> || value instanceof Typed) {
            return StateIndex.children(value).iterator();
        }
        if (value instanceof Tensor tensor) {
            tensors.accept(tensor);
        } else if (value instanceof Symbol symbol) {
            if (isStrict && !Globals.isConstant(symbol)) {
                throw Globals.isKnown(symbol) ? leftOver(symbol) : PickleFault.global(symbol.name());
            }
        } else if (value instanceof UnbuiltObject || value instanceof ByteString) {
            throw leftOver(value);
        }
        return null;
    }

    private static PickleFault leftOver(Object value) {
        return PickleFault.malformed(CallArguments.describe(value) + " is left without a use");
    }

    private static void checkDepth(Frame frame) {
        if (frame.height > StateIndex.MAX_DEPTH) {
            throw PickleFault.because("TORCH-DEPTH", "containers nest more than " + StateIndex.MAX_DEPTH + " deep",
                    "Save a flatter state");
        }
    }

    private static long saturatedSum(long a, long b) {
        return a > Long.MAX_VALUE - b ? Long.MAX_VALUE : a + b;
    }
}
