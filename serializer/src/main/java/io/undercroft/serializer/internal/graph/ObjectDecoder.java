package io.undercroft.serializer.internal.graph;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.graph.Recipe.When;
import io.undercroft.serializer.internal.tree.JavaNode;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StatePath;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.SequencedSet;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/// Restores objects from the tree that [ObjectEncoder] made of them.
///
/// Each node becomes one object, by its [Recipe]. Some objects can exist before their parts, such as a list; others
/// cannot, such as a record, whose constructor needs its components. Without cycles, the parts of a node are finished
/// before the node. Nodes of a cycle, more exactly of a strongly connected part of the tree, are
/// found as Tarjan finds them, and finished together, as soon as the first visited of them has been walked:
///
/// 1. Early objects exist from the start.
/// 2. An object that has all its parts is finished: early objects are filled, late ones created, which may be the last
///    part of others.
/// 3. Sets and maps of objects are filled last, since the hash of a key may depend on its contents.
///
/// So a constructor sees a list that is not full yet only if the list will contain the object that is being made. An
/// object that cannot be finished in this way, such as a record that contains only itself, cannot have been saved by a
/// program.
///
/// Recursion is as deep as the tree, whose depth is limited.
public final class ObjectDecoder {
    private final Object tree;
    private final NodeFactories recipes;
    private final IdentityHashMap<Object, Node> nodes = new IdentityHashMap<>();
    /// Nodes that were walked and are not finished, in the order in which their walks ended.
    private final List<Node> walked = new ArrayList<>();
    private int depth;

    /// A node whose object is not finished.
    private static final class Node {
        private final Object value;
        private final int number;
        private final Recipe recipe;
        private final List<Node> waiting = new ArrayList<>(0);
        private @Nullable Object object;
        /// The smallest number of a node that this leads back to.
        private int low;
        /// The number of its parts that do not exist yet.
        private int missing;
        private boolean isFinished;

        Node(Object value, int number, Recipe recipe) {
            this.value = value;
            this.number = number;
            this.low = number;
            this.recipe = recipe;
            this.object = recipe.early();
        }
    }

    private ObjectDecoder(Object tree, StateClasses classes) {
        this.tree = tree;
        this.recipes = new NodeFactories(classes);
    }

    /// Decodes a tree.
    ///
    /// @param tree the tree of a file
    /// @param classes the classes whose objects may be made
    /// @return the state; the tree itself if no object is in it
    /// @throws FormatException if it names a class that is not registered, or an object cannot be made; the message has
    ///     its path
    public static @Nullable Object of(@Nullable Object tree, StateClasses classes) {
        return tree == null || !holdsObjects(tree) ? tree : new ObjectDecoder(tree, classes).walk(tree).object;
    }

    private static boolean holdsObjects(Object tree) {
        return anyNode(tree, node -> JavaNode.className(node) != null);
    }

    /// {@return whether any container of a tree passes a test} Those after the first one are not tested.
    private static boolean anyNode(Object tree, Predicate<Object> test) {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> left = new ArrayDeque<>();
        if (JavaNode.isContainer(tree)) {
            left.push(tree);
        }
        while (!left.isEmpty()) {
            Object node = left.pop();
            if (test.test(node)) {
                return true;
            }
            if (seen.add(node)) {
                StateIndex.children(node).stream().filter(JavaNode::isContainer).forEach(left::push);
            }
        }
        return false;
    }

    private Node walk(Object value) {
        if (depth == StateIndex.MAX_DEPTH) {
            throw ObjectFaults.at(where(value),
                    ObjectFaults.damaged("nests objects more than " + StateIndex.MAX_DEPTH + " deep"));
        }
        depth++;
        Node node = new Node(value, nodes.size(), at(value, () -> recipes.of(value)));
        nodes.put(value, node);
        for (Object part : node.recipe.parts()) {
            if (JavaNode.isContainer(part)) {
                Node held = nodes.get(part);
                if (held == null) {
                    held = walk(part);
                }
                node.low = held.isFinished ? node.low : Math.min(node.low, held.low);
            }
        }
        walked.add(node);
        if (node.low == node.number) {
            finish(partOf(node));
        }
        depth--;
        return node;
    }

    /// Returns the nodes of the strongly connected part whose first node this is: all those that were walked after it.
    private List<Node> partOf(Node first) {
        int from = walked.size() - 1;
        while (from > 0 && walked.get(from - 1).number > first.number) {
            from--;
        }
        List<Node> tail = walked.subList(from, walked.size());
        List<Node> part = List.copyOf(tail);
        tail.clear();
        return part;
    }

    private void finish(List<Node> part) {
        Deque<Node> ready = new ArrayDeque<>();
        for (Node node : part) {
            waitForParts(node);
            if (node.missing == 0) {
                ready.add(node);
            }
            while (!ready.isEmpty()) {
                finishNow(ready.remove(), ready);
            }
        }
        part.stream().filter(node -> node.missing > 0).findFirst().ifPresent(node -> {
            throw ObjectFaults.at(where(node.value),
                    ObjectFaults.damaged("holds itself, but cannot be there before what it holds"));
        });
        part.stream().filter(node -> node.recipe.when() == When.CONTENTS).forEach(this::make);
        part.forEach(node -> node.isFinished = true);
    }

    private void waitForParts(Node node) {
        for (Object part : node.recipe.parts()) {
            if (JavaNode.isContainer(part)) {
                Node held = nodeOf(part);
                if (held.object == null) {
                    held.waiting.add(node);
                    node.missing++;
                }
            }
        }
    }

    private void finishNow(Node node, Deque<Node> ready) {
        if (node.recipe.when() == When.PARTS) {
            make(node);
        }
        for (Node other : node.waiting) {
            if (--other.missing == 0) {
                ready.add(other);
            }
        }
        node.waiting.clear();
    }

    private void make(Node node) {
        List<@Nullable Object> values = new ArrayList<>(node.recipe.parts().size());
        for (Object part : node.recipe.parts()) {
            values.add(JavaNode.isContainer(part) ? nodeOf(part).object : part);
        }
        node.object = at(node.value, () -> Objects.requireNonNull(node.recipe.finish().apply(values)));
    }

    private Node nodeOf(Object part) {
        Node node = nodes.get(part);
        if (node == null) {
            throw new IllegalStateException("a part of a node was not walked");
        }
        return node;
    }

    /// Adds the path to an exception. A class of the program may throw anything.
    private <T> T at(Object value, Supplier<T> step) {
        try {
            return step.get();
        } catch (FormatException e) {
            throw ObjectFaults.at(where(value), e.code().equals(ObjectFaults.CLASS) ? withOthers(e) : e);
        } catch (RuntimeException | StackOverflowError e) {
            throw ObjectFaults.at(where(value), ObjectFaults.failed("cannot be made", e));
        }
    }

    /// Names the other classes that are not registered, too, so that they can be registered at once.
    private FormatException withOthers(FormatException unknown) {
        SequencedSet<String> names = new LinkedHashSet<>();
        anyNode(tree, node -> {
            String name = recipes.missing(node);
            if (name != null && !unknown.what().contains(FormatException.quote(name))) {
                names.add(FormatException.quote(name));
            }
            return names.size() > ObjectFaults.MOST_NAMED;
        });
        return ObjectFaults.unknown(unknown, names);
    }

    private String where(Object value) {
        String path = StateIndex.of(tree).pathOf(value);
        return StatePath.describe(path == null ? "" : path);
    }
}
