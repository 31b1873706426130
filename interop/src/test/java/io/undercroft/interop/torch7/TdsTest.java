package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Objects of the package `tds`, as its functions `__write` put them down: a long and the elements, without a table.
class TdsTest {
    @TempDir
    private Path folder;

    private static FileBuilder tds(FileBuilder builder, int index, String name) {
        return builder.ints(ObjectTag.TORCH, index).text("V 0").text(name);
    }

    /// A table with a hash, in which there is a vector, in which there is the hash; and with a counter.
    private static FileBuilder nested() {
        FileBuilder builder = new FileBuilder().table(1, 2).string("hash");
        tds(builder, 2, "tds.Hash").longs(2).string("n").number(3).string("v");
        tds(builder, 3, "tds.Vec").longs(3).number(123).ints(ObjectTag.NIL).ints(ObjectTag.TORCH, 2);
        return tds(builder.string("counter"), 4, "tds.AtomicCounter").longs(1L << 40);
    }

    @Test
    void aVectorIsAListOfItsElements() throws IOException {
        FileBuilder builder = tds(new FileBuilder(), 1, "tds.Vec").longs(2).number(123).number(456);
        try (Checkpoint c = Checkpoint.open(builder.in(folder))) {
            assertThat(c.unread()).isEmpty();
            Typed vector = (Typed) c.tree();
            assertThat(vector.type()).isEqualTo("torch7:tds.Vec");
            assertThat(vector.value()).isEqualTo(List.of(123.0, 456.0));
            assertThat(vector.attributes()).isEmpty();
            assertThat(Files7.written(vector)).isEqualTo(builder.bytes());
        }
    }

    @Test
    void whatHoldsEachOtherIsReadAndWrittenAgainByteForByte() throws IOException {
        Path croft = folder.resolve("nested.croft");
        try (Checkpoint c = Checkpoint.open(nested().in(folder))) {
            Map<?, ?> root = (Map<?, ?>) c.tree();
            TypedMap hash = (TypedMap) root.get("hash");
            assertThat(hash.type()).isEqualTo("torch7:tds.Hash");
            assertThat(hash.get("n")).isEqualTo(3.0);
            List<?> elements = (List<?>) ((Typed) hash.get("v")).value();
            assertThat(elements.get(0)).isEqualTo(123.0);
            assertThat(elements.get(1)).isNull();
            assertThat(elements.get(2) == hash).isTrue();
            assertThat(((Typed) root.get("counter")).value()).isEqualTo(1L << 40);
            assertThat(Files7.written(c.tree())).isEqualTo(nested().bytes());
            Checkpoint.save(croft, c.tree());
        }
        try (Checkpoint c = Checkpoint.open(croft)) {
            assertThat(Files7.written(c.tree())).isEqualTo(nested().bytes());
        }
    }

    @Test
    void aHashWithObjectsAsKeysIsAListOfPairs() throws IOException {
        FileBuilder builder = tds(new FileBuilder(), 1, "tds.Hash").longs(1).table(2, 0).number(1);
        try (Checkpoint c = Checkpoint.open(builder.in(folder))) {
            assertThat(((Typed) ((Typed) c.tree()).value()).type()).isEqualTo("torch7:table");
            assertThat(Files7.written(c.tree())).isEqualTo(builder.bytes());
        }
    }

    /// What `torch.save(file, tds.Hash{v = tds.Vec{torch.ByteTensor{7, 8}, nil, true}}, 'ascii')` writes.
    private static final String ASCII = """
            4
            1
            3
            V 0
            8
            tds.Hash
            1
            2
            1
            v
            4
            2
            3
            V 0
            7
            tds.Vec
            3
            4
            3
            3
            V 1
            16
            torch.ByteTensor
            1
            2
            1
            1
            4
            4
            3
            V 1
            17
            torch.ByteStorage
            2
            AB
            0
            5
            1
            """;

    private static void checkNested(Checkpoint c) {
        TypedMap hash = (TypedMap) c.tree();
        List<?> elements = (List<?>) ((Typed) hash.get("v")).value();
        assertThat(elements).hasSize(3);
        assertThat(c.names()).containsExactly("v/0");
        assertThat(c.tensor("v/0").toDoubleArray()).containsExactly('A', 'B');
        assertThat(elements.get(1)).isNull();
        assertThat(elements.get(2)).isEqualTo(true);
    }

    @Test
    void everyEncodingHasTheSame() throws IOException {
        Path text = Files.writeString(folder.resolve("text.t7"), ASCII);
        SaveOptions defaults = SaveOptions.defaults();
        List<SaveOptions> encodings = List.of(defaults.setting("torch7.encoding", "ascii"), defaults,
                defaults.setting("torch7.order", "big"), defaults.setting("torch7.longs", "4"),
                defaults.setting("torch7.order", "big").setting("torch7.longs", "4"));
        try (Checkpoint c = Checkpoint.open(text)) {
            checkNested(c);
            for (SaveOptions encoding : encodings) {
                byte[] again = Files7.written(c.tree(), encoding);
                assertThat(Files7.written(c.tree(), encodings.getFirst())).asString().isEqualTo(ASCII);
                try (Checkpoint other = Checkpoint.open(Files.write(folder.resolve("again.t7"), again))) {
                    checkNested(other);
                }
            }
        }
    }

    @Test
    void theNameBeforeOctober2015IsKept() throws IOException {
        FileBuilder builder = tds(new FileBuilder(), 1, "tds_hash").longs(1).string("a").number(2);
        try (Checkpoint c = Checkpoint.open(builder.in(folder))) {
            TypedMap hash = (TypedMap) c.tree();
            assertThat(hash.type()).isEqualTo("torch7:tds_hash");
            assertThat(hash.get("a")).isEqualTo(2.0);
            assertThat(Files7.written(hash)).isEqualTo(builder.bytes());
        }
    }

    /// A vector that was read keeps the objects that it refers to, as its own library does: by their numbers.
    @Test
    void aTensorInTwoPlacesIsOne() throws IOException {
        FileBuilder builder = tds(new FileBuilder().table(1, 2).number(1), 2, "tds.Vec").longs(1);
        builder.torch(3, "torch.FloatTensor").ints(1).longs(2, 1, 1).torch(4, "torch.FloatStorage").longs(2)
                .longs(0x4000_0000_3f80_0000L).number(2).ints(ObjectTag.TORCH, 3);
        try (Checkpoint c = Checkpoint.open(builder.in(folder))) {
            assertThat(c.names()).containsExactly("1/0", "2");
            assertThat(c.tensor("1/0")).isSameAs(c.tensor("2"));
            assertThat(c.tensor("2").toFloatArray()).containsExactly(1, 2);
            assertThat(Files7.written(c.tree())).isEqualTo(builder.bytes());
        }
    }

    @Test
    void sizesAreComparedWithTheFile() throws IOException {
        for (long size : new long[]{-1, 3, 1L << 32, Long.MAX_VALUE}) {
            for (String name : List.of("tds.Vec", "tds.Hash")) {
                Path path = tds(new FileBuilder(), 1, name).longs(size).number(1).in(folder);
                assertThatExceptionOfType(FormatException.class).as(name + size)
                        .isThrownBy(() -> Checkpoint.open(path).close());
            }
        }
    }

    @Test
    void otherThingsUnderTheseNamesAreNotWritten() {
        List<Object> others = Arrays.asList(new Typed("torch7:tds.Vec", null),
                new Typed("torch7:tds.AtomicCounter", 1.5), new TypedMap("torch7:tds.Vec"),
                new Typed("torch7:tds.Hash", List.of()), new Typed("torch7:a.B", "text"),
                new Typed("torch7:a.B", List.of()), new TypedMap("torch7:a B"));
        for (Object other : others) {
            assertThatIllegalArgumentException().as(other.toString()).isThrownBy(() -> Files7.written(other));
        }
    }
}
