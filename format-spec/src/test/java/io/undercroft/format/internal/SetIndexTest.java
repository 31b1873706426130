package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.Digest128;
import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/// The slices in the manifest of a set.
class SetIndexTest {
    private static final DTypeRecord FLOAT32 = new DTypeRecord("float32", 32);
    private static final List<Shard> SHARDS = List.of(shard("a"), shard("b"), shard("c"));

    private static Shard shard(String path) {
        return new Shard(new UUID(8, path.charAt(0)), new Digest128(1, 2), 1, 2000, path);
    }

    private static SlicePart part(int shard, long[] offset, long... size) {
        return new SlicePart(shard, offset, size);
    }

    private static long[] at(long... offset) {
        return offset;
    }

    private static SlicedTensor w(List<SlicePart> parts, long... shape) {
        return SlicedTensor.of("w", FLOAT32, shape, parts);
    }

    @Test
    void anIndexComesBackWithTheSetInTheOrderOfItsNames() throws IOException {
        SetIndex index = SetIndex.of("run", List.of(w(List.of(part(1, at(2), 1), part(0, at(0), 2)), 3),
                SlicedTensor.of("é", FLOAT32, at(), List.of(part(2, at()))),
                SlicedTensor.of("a", new DTypeRecord("gguf.q4_0", 144), at(0, 5), List.of())));
        SetManifest set = SetManifest.canonical(SHARDS, Optional.of(index));

        SetManifest read = SetManifest.read(ByteSource.of(MemorySegment.ofArray(set.encode())), Limits.DEFAULT);

        assertThat(read).isEqualTo(set).isNotEqualTo(SetManifest.canonical(SHARDS, Optional.empty()));
        SetIndex found = read.index().orElseThrow();
        assertThat(found.run()).isEqualTo("run");
        assertThat(found.names()).containsExactly("a", "w", "é");
        assertThat(found.find("w").orElseThrow().parts(SHARDS)).extracting(SlicePart::shard).containsExactly(0, 1);
        assertThat(found.find("é").orElseThrow().parts(SHARDS)).hasSize(1);
        assertThat(found.find("a").orElseThrow().parts(SHARDS)).isEmpty();
        found.check(SHARDS);
    }

    @Test
    void whatIsMissingIsNamedAsABox() {
        assertRefused(w(List.of(part(0, at(0, 0), 4, 2), part(1, at(0, 2), 1, 1), part(2, at(3, 2), 1, 1)), 4, 3),
                "V22-SLICE", "'w' of float32 [4, 3]", "no shard has the elements from [1, 2] to [3, 3]");
        assertRefused(w(List.of(part(0, at(0, 0), 1, 1), part(1, at(1, 0), 1, 2), part(2, at(1, 2), 1, 2)), 2, 4),
                "V22-SLICE", "no shard has the elements from [0, 1] to [1, 4]");
        assertRefused(w(List.of(), 4, 3), "V22-SLICE", "from [0, 0] to [4, 3]");
        assertRefused(w(List.of(part(0, at(0), 2)), 3), "V22-SLICE", "from [2] to [3]");
        assertRefused(w(List.of()), "V22-SLICE", "from [] to []");
    }

    @Test
    void partsThatOverlapAreNamedWithTheirShards() {
        assertRefused(w(List.of(part(0, at(0), 2), part(1, at(1), 2), part(2, at(3), 1)), 4), "V22-SLICE",
                "the element [1]", "in 'a', 'b' [V22");
        assertRefused(w(List.of(part(0, at(0), 3), part(2, at(0), 3)), 3), "V22-SLICE", "the element [0]",
                "in 'a', 'c'");
        assertRefused(w(List.of(part(0, at(0, 0), 2, 2), part(1, at(1, 1), 2, 2), part(2, at(0, 2), 1, 1)), 3, 3),
                "V22-SLICE", "the element [1, 1]");
    }

    @Test
    void partsThatAreNotInsideOrEmptyAreRefused() {
        long most = Long.MAX_VALUE;
        for (SlicePart wrong : List.of(part(0, at(2), 2), part(0, at(most), 1), part(0, at(1), most),
                part(0, at(most), most), part(0, at(0), 0), part(0, at(0, 0), 1, 3), part(0, at(0)))) {
            assertRefused(w(List.of(wrong), 3), "V22-SLICE", "in 'a'");
        }
        assertRefused(w(List.of(part(0, at(0, 0), 1, 1)), 3, 0), "V22-SLICE", "not inside");
    }

    /// Random boxes are compared with a count of each element.
    @Test
    void theCornersAreRightWheneverTheElementsAre() {
        Random random = new Random(82);
        for (int round = 0; round < 3000; round++) {
            long[] shape = random.longs(1 + random.nextInt(3), 1, 5).toArray();
            List<SlicePart> parts = new ArrayList<>();
            divide(random, new long[shape.length], shape, parts);
            if (random.nextBoolean() && !parts.isEmpty()) {
                disturb(random, shape, parts);
            }
            boolean isWhole = isWhole(shape, parts);
            if (isWhole) {
                assertThatCode(() -> w(parts, shape).parts(SHARDS)).as("%s", parts).doesNotThrowAnyException();
            } else {
                assertRefused(w(parts, shape), "V22-SLICE", "the tensor 'w'");
            }
        }
    }

    private static void divide(Random random, long[] offset, long[] size, List<SlicePart> parts) {
        int dim = random.nextInt(size.length);
        if (size[dim] == 1 || random.nextInt(4) == 0) {
            parts.add(new SlicePart(random.nextInt(SHARDS.size()), offset, size));
            return;
        }
        long cut = 1 + random.nextLong(size[dim] - 1);
        long[] low = size.clone();
        low[dim] = cut;
        divide(random, offset, low, parts);
        long[] start = offset.clone();
        long[] high = size.clone();
        start[dim] += cut;
        high[dim] -= cut;
        divide(random, start, high, parts);
    }

    private static void disturb(Random random, long[] shape, List<SlicePart> parts) {
        SlicePart one = parts.remove(random.nextInt(parts.size()));
        int dim = random.nextInt(shape.length);
        long[] offset = one.offset().clone();
        offset[dim] = random.nextLong(shape[dim]);
        long[] size = one.size().clone();
        size[dim] = 1 + random.nextLong(shape[dim] - offset[dim]);
        parts.add(new SlicePart(one.shard(), offset, size));
    }

    private static boolean isWhole(long[] shape, List<SlicePart> parts) {
        int all = (int) Arrays.stream(shape).reduce(1, (one, other) -> one * other);
        for (int number = 0; number < all; number++) {
            long[] element = new long[shape.length];
            int left = number;
            for (int dim = shape.length - 1; dim >= 0; dim--) {
                element[dim] = left % shape[dim];
                left /= (int) shape[dim];
            }
            if (parts.stream().filter(part -> part.contains(element)).count() != 1) {
                return false;
            }
        }
        return true;
    }

    @Test
    void aTensorThatIsDividedTooMuchIsRefusedBeforeItsCornersAreCounted() {
        long[] two = new long[17];
        Arrays.fill(two, 2);
        long[] one = new long[17];
        Arrays.fill(one, 1);
        assertRefused(w(List.of(part(0, new long[17], one)), two), "V8-LIMIT", "divided in 17 dimensions");
        List<SlicePart> many = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            many.add(part(0, at(i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
        }
        long[] shape = Arrays.copyOf(two, 15);
        shape[0] = 600;
        assertRefused(w(many, shape), "V8-LIMIT", "into 600 parts");
    }

    @Test
    void aTensorCutIntoTenThousandPartsIsCheckedByItsCornersAlone() {
        List<SlicePart> parts = new ArrayList<>();
        for (long row = 0; row < 100; row++) {
            for (long column = 0; column < 100; column++) {
                parts.add(part(1, at(row << 40, column), 1L << 40, 1));
            }
        }
        SlicedTensor large = SlicedTensor.of("w", new DTypeRecord("int8", 8), at(100L << 40, 100), parts);
        assertThat(large.parts(SHARDS)).hasSize(10_000);
        Collections.swap(parts, 0, 9_999);
        parts.removeLast();
        assertRefused(w(parts, 100L << 40, 100), "V22-SLICE", "from [0, 0] to [1099511627776, 1]");
    }

    @Test
    void hostileTreesAreRefused() {
        refused("V16-TREE", tree -> tree.openList(0));
        refused("V16-TREE", tree -> {
            tree.openTuple(2);
            tree.writeInteger(7);
            tree.openMap(0);
        });
        refused("V8-LIMIT", tree -> {
            tree.openTuple(2);
            tree.writeString("a".repeat(4097));
            tree.openMap(0);
        });
        refused("V6-NAME", tree -> {
            head(tree, 2);
            tensor(tree, "b", "float32", 32, new byte[]{0x10, 0}, 0);
            tensor(tree, "a", "float32", 32, new byte[]{0x10, 0}, 0);
        });
        refused("V6-NAME", tree -> {
            head(tree, 2);
            tensor(tree, "a", "float32", 32, new byte[]{0x10, 0}, 0);
            tensor(tree, "a", "float32", 32, new byte[]{0x10, 0}, 0);
        });
        refused("V8-LIMIT", tree -> {
            head(tree, 1);
            tensor(tree, "a".repeat(4097), "float32", 32, new byte[]{0x10, 0}, 0);
        });
        refused("V15-STRUCTURE", tree -> {
            head(tree, 1);
            tensor(tree, "a", "float32", 0, new byte[]{0x10, 0}, 0);
        });
        refused("V1-ARITHMETIC", tree -> {
            head(tree, 1);
            tensor(tree, "a", "float32", 32, new byte[]{0x10, 0}, 1L << 40, 1L << 40);
        });
        refused("V1-ARITHMETIC", tree -> {
            head(tree, 1);
            tensor(tree, "a", "float32", 32, new byte[]{0x10, 0}, Long.MAX_VALUE);
        });
    }

    /// The parts of a tensor are read when they are used.
    @Test
    void hostilePartsAreRefusedWhenTheyAreUsed() throws IOException {
        for (byte[] parts : List.of(new byte[0], new byte[]{0x10, 0, 0}, new byte[]{0x10, 1, 4, 0},
                new byte[]{0x10, 3, 4, 0, 4, 0, 4, 0})) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> withParts(parts).parts(SHARDS))
                    .extracting(FormatException::code).isEqualTo("V16-TREE");
        }
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> withParts(new byte[]{0x10, 3, 4, 9, 0x24, 1, 0, 0x24, 1, 3}).parts(SHARDS))
                .extracting(FormatException::code).isEqualTo("V10-INDEX");
        assertThat(withParts(new byte[]{0x10, 3, 4, 2, 0x24, 1, 0, 0x24, 1, 3}).parts(SHARDS)).hasSize(1);
    }

    private static SlicedTensor withParts(byte[] parts) {
        StateTreeWriter tree = new StateTreeWriter();
        head(tree, 1);
        tensor(tree, "a", "float32", 32, parts, 3);
        return SetIndex.read(MemorySegment.ofArray(tree.toByteArray()), Limits.DEFAULT, 0).find("a").orElseThrow();
    }

    @Test
    void whatReadersWouldRefuseIsNotMade() {
        SlicedTensor one = w(List.of(part(0, at(0), 1)), 1);
        assertThatIllegalArgumentException().isThrownBy(() -> SetIndex.of(null, List.of(one, one)));
        assertThatIllegalArgumentException().isThrownBy(() -> SetIndex.of("a".repeat(4097), List.of()));
    }

    private static void head(StateTreeWriter tree, int tensors) {
        tree.openTuple(2);
        tree.writeNull();
        tree.openMap(tensors);
    }

    private static void tensor(StateTreeWriter tree, String name, String dtype, long bits, byte[] parts,
            long... shape) {
        tree.writeString(name);
        tree.openTuple(4);
        tree.writeString(dtype);
        tree.writeInteger(bits);
        tree.writeShape(shape);
        tree.writeBytes(MemorySegment.ofArray(parts));
    }

    private static void refused(String code, Consumer<StateTreeWriter> writer) {
        StateTreeWriter tree = new StateTreeWriter();
        writer.accept(tree);
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> SetIndex.read(MemorySegment.ofArray(tree.toByteArray()), Limits.DEFAULT, 0))
                .extracting(FormatException::code).isEqualTo(code);
    }

    private static void assertRefused(SlicedTensor tensor, String code, String... words) {
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> tensor.parts(SHARDS))
                .satisfies(e -> assertThat(e.code()).isEqualTo(code)).extracting(Throwable::getMessage).asString()
                .contains(words);
    }
}
