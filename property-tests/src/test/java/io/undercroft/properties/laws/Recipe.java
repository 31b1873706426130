package io.undercroft.properties.laws;

import io.undercroft.properties.states.StateSketch;
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
import java.util.stream.Collectors;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/// How to make a state, as often as one is wanted: one to save, and others to compare with what was saved after that
/// one was written to.
///
/// @param tree any state
/// @param large tensors on large storages
/// @param changes seeds of bytes that are written after that
record Recipe(StateSketch tree, List<Large> large, List<Long> changes) {
    private static final int BLOCK = 1 << 16;
    private static final List<Integer> TAILS = List.of(0, 1, 100, BLOCK - 1);
    private static final int MOST_PUTS = 12;

    /// A run of the bytes of a storage.
    ///
    /// @param start its start, in eighths of the storage
    /// @param length its length, in eighths, as far as the storage goes
    record Part(int start, int length) {
        private Tensor of(Storage storage) {
            long from = storage.nbytes() * start / 8;
            long count = Math.min(storage.nbytes() * length / 8, storage.nbytes() - from);
            return Tensor.of(storage, DType.UINT8, from, Shape.of(count), 1);
        }
    }

    /// Tensors of bytes on a storage that is put together of few kinds of blocks, so that many chunks are the same.
    ///
    /// @param blocks the kind of each block; one of kind 0 is all zeros
    /// @param tail how many bytes follow the blocks
    /// @param parts the bytes of each tensor; no tensor reaches the others
    record Large(List<Integer> blocks, int tail, List<Part> parts) {
        List<Tensor> make() {
            Storage storage = Storage.allocate((long) blocks.size() * BLOCK + tail);
            for (int i = 0; i * (long) BLOCK < storage.nbytes(); i++) {
                fill(storage, (long) i * BLOCK, i < blocks.size() ? blocks.get(i) : 0);
            }
            return parts.stream().map(part -> part.of(storage)).toList();
        }

        private static void fill(Storage storage, long start, int kind) {
            var random = new SplittableRandom(kind);
            for (long i = start; i < Math.min(start + BLOCK, storage.nbytes()); i++) {
                storage.segment().set(ValueLayout.JAVA_BYTE, i, kind == 0 ? 0 : (byte) random.nextInt());
            }
        }

        private String java() {
            String kinds = blocks.stream().map(String::valueOf).collect(Collectors.joining(", "));
            String runs = parts.stream().map(part -> "new Recipe.Part(" + part.start + ", " + part.length + ")")
                    .collect(Collectors.joining(", "));
            return "new Recipe.Large(List.of(" + kinds + "), " + tail + ", List.of(" + runs + ")).make()";
        }
    }

    /// {@return small states of all kinds, and large tensors}
    static Arbitrary<Recipe> any() {
        Arbitrary<Part> parts = Combinators.combine(Arbitraries.of(0, 4, 1, 7), Arbitraries.of(8, 2, 4, 1))
                .as(Part::new);
        Arbitrary<Large> large = Combinators.combine(Arbitraries.integers().between(0, 3).list().ofMaxSize(4),
                Arbitraries.of(TAILS), parts.list().ofMinSize(1).ofMaxSize(3)).as(Large::new);
        return Combinators.combine(StateSketch.plain(MOST_PUTS), large.list().ofMaxSize(5))
                .as((tree, tensors) -> new Recipe(tree, tensors, List.of())).withoutEdgeCases();
    }

    /// {@return the same state with some bytes changed}
    Recipe changed(long seed) {
        List<Long> more = new ArrayList<>(changes);
        more.add(seed);
        return new Recipe(tree, large, List.copyOf(more));
    }

    /// {@return the state; equal recipes make equal ones}
    Object make() {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("blocks", new ArrayList<>(large.stream().map(Large::make).flatMap(List::stream).toList()));
        state.put("tree", tree.make());
        change(state, changes);
        return state;
    }

    /// Writes some bytes of a state.
    static void change(Object state, List<Long> seeds) {
        List<Storage> storages = StateIndex.of(state).storages().stream()
                .filter(storage -> !storage.isMeta() && storage.nbytes() > 0).toList();
        for (long seed : seeds) {
            var random = new SplittableRandom(seed);
            for (int left = storages.isEmpty() ? 0 : 1 + random.nextInt(3); left > 0; left--) {
                Storage storage = storages.get(random.nextInt(storages.size()));
                storage.set(random.nextLong(storage.nbytes()), (byte) random.nextInt());
            }
        }
    }

    /// {@return the statements that declare the state as `whole`}
    @Override
    public String toString() {
        return tree + "Map<String, Object> whole = new LinkedHashMap<>();\n"
                + "whole.put(\"blocks\", new ArrayList<>(Stream.<List<Tensor>>of("
                + large.stream().map(Large::java).collect(Collectors.joining(", "))
                + ").flatMap(List::stream).toList()));\nwhole.put(\"tree\", state);\nRecipe.change(whole, List.of("
                + changes.stream().map(seed -> seed + "L").collect(Collectors.joining(", ")) + "));\n";
    }
}
