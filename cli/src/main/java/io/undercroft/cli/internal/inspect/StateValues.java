package io.undercroft.cli.internal.inspect;

import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePart;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/// The values of a state that are worth a line: what it consists of, and the scalars of the containers in it. A few of
/// each container, of few containers: the parts of an optimizer's state are alike.
final class StateValues {
    private static final int MOST_LEVELS = 6;
    private static final int MOST_ENTERED = 4;
    /// Of a container below the first level, and of a list, only so many elements are looked at.
    private static final int MOST_VISITED = 10_000;

    private final List<StatePart> lines = new ArrayList<>();
    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final int mostOfEach;
    private final int most;
    private long leftOut;

    /// Chooses the values.
    ///
    /// @param state the root of the tree
    /// @param mostOfEach how many values of a container have a line
    /// @param most how many values have a line
    StateValues(@Nullable Object state, int mostOfEach, int most) {
        this.mostOfEach = mostOfEach;
        this.most = most;
        if (state instanceof Map || !StateOutline.isTold(state)) {
            add(new StatePart("", state), 0);
        }
    }

    /// {@return the values with their paths, in the order of the state}
    List<StatePart> lines() {
        return lines;
    }

    /// {@return the number of values that were looked at and have no line}
    long leftOut() {
        return leftOut;
    }

    private void add(StatePart container, int level) {
        if (!seen.add(Objects.requireNonNull(container.value()))) {
            return;
        }
        int[] shown = {0, 0};
        boolean isWhole = level == 0 && container.value() instanceof Map;
        container.elements().limit(isWhole ? Long.MAX_VALUE : MOST_VISITED).forEach(child -> {
            boolean isTold = StateOutline.isTold(child.value());
            // A typed tensor, such as dates of NumPy, is shown on the first level only.
            boolean isShown = level == 0
                    ? !(child.value() instanceof Tensor)
                    : !(StateIndex.held(child.value()) instanceof Tensor) && (isTold || mayEnter(child, level));
            if (!isShown) {
                return;
            }
            if (level == 0 || isTold) {
                if (shown[0]++ >= mostOfEach || (level > 0 && lines.size() >= most)) {
                    leftOut++;
                    return;
                }
                lines.add(child);
            }
            if (!isTold && mayEnter(child, level) && shown[1]++ < (level == 0 ? mostOfEach : MOST_ENTERED)) {
                add(child, level + 1);
            }
        });
    }

    private static boolean mayEnter(StatePart part, int level) {
        return level < MOST_LEVELS && !PythonObjects.isModule(part.value());
    }
}
