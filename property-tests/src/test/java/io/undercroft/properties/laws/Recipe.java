package io.undercroft.properties.laws;

import io.undercroft.properties.Choices;
import io.undercroft.properties.states.StateMaker;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/// How to make a state, as often as one is wanted: one to save, and others to compare with what was saved after that
/// one was written to. Immutable.
final class Recipe {
    private static final int BLOCK = 1 << 16;
    private static final List<Integer> TAILS = List.of(0, 1, 100, BLOCK - 1);

    /// Choices of a [StateMaker].
    private final byte[] tree;
    /// Choices of large storages that are put together of few kinds of blocks, so that many chunks are the same.
    private final byte[] blocks;
    /// Seeds of bytes that are written after that.
    private final List<Long> changes;

    private Recipe(byte[] tree, byte[] blocks, List<Long> changes) {
        this.tree = tree;
        this.blocks = blocks;
        this.changes = List.copyOf(changes);
    }

    static Recipe of(Choices choices) {
        byte[] tree = new byte[choices.below(60)];
        byte[] blocks = new byte[choices.below(30)];
        for (byte[] some : List.of(tree, blocks)) {
            for (int i = 0; i < some.length; i++) {
                some[i] = (byte) choices.below(256);
            }
        }
        return new Recipe(tree, blocks, List.of());
    }

    /// {@return the same state with some bytes changed}
    Recipe changed(long seed) {
        List<Long> more = new ArrayList<>(changes);
        more.add(seed);
        return new Recipe(tree, blocks, more);
    }

    /// {@return the state; equal recipes make equal ones}
    Object make() {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("blocks", tensors());
        state.put("tree", StateMaker.make(tree));
        List<Storage> storages = StateIndex.of(state).storages().stream()
                .filter(storage -> !storage.isMeta() && storage.nbytes() > 0).toList();
        for (long seed : changes) {
            change(storages, new SplittableRandom(seed));
        }
        return state;
    }

    private static void change(List<Storage> storages, SplittableRandom random) {
        for (int left = storages.isEmpty() ? 0 : 1 + random.nextInt(3); left > 0; left--) {
            Storage storage = storages.get(random.nextInt(storages.size()));
            storage.set(random.nextLong(storage.nbytes()), (byte) random.nextInt());
        }
    }

    private List<Object> tensors() {
        Choices choices = new Choices(blocks);
        List<Object> made = new ArrayList<>();
        while (!choices.areUsedUp()) {
            int count = choices.below(5);
            Storage storage = Storage.allocate((long) count * BLOCK + choices.of(TAILS));
            for (long start = 0; start < storage.nbytes(); start += BLOCK) {
                fill(storage, start, choices.below(4));
            }
            made.add(tensor(storage, choices));
        }
        return made;
    }

    /// Block 0 is all zeros.
    private static void fill(Storage storage, long start, int kind) {
        var random = new SplittableRandom(kind);
        for (long i = start; i < Math.min(start + BLOCK, storage.nbytes()); i++) {
            storage.segment().set(ValueLayout.JAVA_BYTE, i, kind == 0 ? 0 : (byte) random.nextInt());
        }
    }

    /// On the whole storage, or on a part of it, so that the rest is not reached.
    private static Tensor tensor(Storage storage, Choices choices) {
        long from = choices.yes() ? storage.nbytes() / 2 : 0;
        long count = choices.yes() ? (storage.nbytes() - from) / 2 : storage.nbytes() - from;
        return Tensor.of(storage, DType.UINT8, from, Shape.of(count), 1);
    }
}
