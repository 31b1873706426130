package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Files with more than one object, as programs write them that call `File:writeObject` again and again, and files with
/// something else behind their objects.
class SeveralObjectsTest {
    private static final OpenOptions TORCH7 = OpenOptions.defaults().format("torch7");

    @TempDir
    private Path folder;

    /// A table with a tensor; a tensor on the same storage; a number; the table again. Written through one file, so
    /// numbered on.
    private static FileBuilder continued() {
        return new FileBuilder().table(1, 1).string("weight").torch(2, "torch.IntTensor").ints(1).longs(3, 1, 1)
                .torch(3, "torch.IntStorage").longs(3).ints(7, 8, 9)
                .torch(4, "torch.IntTensor").ints(1).longs(2, 1, 2).ints(ObjectTag.TORCH, 3)
                .number(5)
                .ints(ObjectTag.TABLE, 1);
    }

    private static OpenOptions object(int number) {
        return OpenOptions.defaults().setting("torch7.object", Integer.toString(number));
    }

    private static FormatException refusal(Path path, OpenOptions options) {
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Checkpoint.open(path, options).close());
        assertThat(refusal).isNotNull();
        return refusal;
    }

    @Test
    void theFirstObjectIsOpenedAndTheOthersAreReported() throws IOException {
        Path path = continued().in(folder);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.format()).isEqualTo("torch7");
            assertThat(c.tensor("weight").toString()).contains("7");
            assertThat(c.unread()).singleElement().satisfies(part -> {
                assertThat(part.kind()).isEqualTo(Kind.STATE);
                assertThat(part.what()).isEqualTo("3 objects of 4 (object 1 was opened)");
                assertThat(part.setting()).isEqualTo("torch7.object");
                assertThat(part.offset() + part.nbytes()).isEqualTo(Files.size(path));
            });
        }
    }

    @Test
    void eachObjectIsOpenedByItsNumberAndMayReferToThoseBeforeIt() throws IOException {
        Path path = continued().in(folder);
        try (Checkpoint second = Checkpoint.open(path, object(2));
                Checkpoint third = Checkpoint.open(path, object(3));
                Checkpoint fourth = Checkpoint.open(path, object(4).only("weight"))) {
            Tensor tensor = second.tensor("");
            assertThat(List.of(tensor.getLong(0), tensor.getLong(1))).containsExactly(8L, 9L);
            assertThat(third.tree()).isEqualTo(5.0);
            assertThat(fourth.tensor("weight").getLong(2)).isEqualTo(9);
            assertThat(second.unread()).extracting(UnreadPart::offset).containsExactly(0L);
        }
        assertThat(refusal(path, object(5)))
                .hasMessageContainingAll("the file has 4 objects", "object 5", "torch7.object");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.open(path, OpenOptions.defaults().setting("torch7.object", "0")));
    }

    @Test
    void aFileThatWasPutTogetherOfSeveralHasNumbersThatBeginAgain() throws IOException {
        for (String encoding : List.of("bin", "ascii", "be", "long4")) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (String name : List.of("tensor-int-empty", "storage-short", "tensor-double-2x3")) {
                all.writeBytes(Files.readAllBytes(Files7.FIXTURES.resolve(name + "." + encoding + ".t7")));
            }
            Path path = Files.write(folder.resolve(encoding + ".t7"), all.toByteArray());
            try (Checkpoint first = Checkpoint.open(path);
                    Checkpoint third = Checkpoint.open(path, object(3))) {
                assertThat(first.tensor("").numel()).as(encoding).isZero();
                assertThat(first.unread()).singleElement()
                        .satisfies(part -> assertThat(part.what()).startsWith("2 objects of 3"));
                assertThat(third.tensor("").shape().toArray()).containsExactly(2, 3);
            }
        }
    }

    @Test
    void bytesThatAreNoObjectAreReported() throws IOException {
        byte[] tensor = Files.readAllBytes(Files7.FIXTURES.resolve("tensor-double-2x3.bin.t7"));
        for (String rest : List.of("rest", "\n", "\0\0\0\0\0\0\0\0", "\2\0\0\0\3\0\0\0ab")) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            all.writeBytes(tensor);
            all.writeBytes(rest.getBytes(StandardCharsets.ISO_8859_1));
            Path path = Files.write(folder.resolve("rest.t7"), all.toByteArray());
            try (Checkpoint c = Checkpoint.open(path)) {
                assertThat(c.tensor("").shape().toArray()).containsExactly(2, 3);
                assertThat(c.unread()).as(rest).singleElement().satisfies(part -> {
                    assertThat(part.kind()).isEqualTo(Kind.BYTES);
                    assertThat(part.offset()).isEqualTo(tensor.length);
                    assertThat(part.nbytes()).isEqualTo(rest.length());
                });
            }
        }
    }

    @Test
    void whiteSpaceAtTheEndOfATextIsNothing() throws IOException {
        String text = Files.readString(Files7.FIXTURES.resolve("tensor-int-2x3.ascii.t7"), StandardCharsets.ISO_8859_1);
        for (String whole : List.of(text, text + "\n", text.stripTrailing())) {
            Path path = Files.writeString(folder.resolve("text.t7"), whole, StandardCharsets.ISO_8859_1);
            try (Checkpoint c = Checkpoint.open(path, TORCH7)) {
                assertThat(c.unread()).isEmpty();
            }
        }
    }

    @Test
    void aColumnOfNumbersIsNoFileOfTorch7() throws IOException {
        Path path = Files.writeString(folder.resolve("labels.txt"), "3\n1\n0\n1\n5\n5\n1\n0\n3\n2\n0\n");
        assertThat(Files7.matches(path)).isFalse();
    }

    @Test
    void aTextWithReturnsIsRefused() throws IOException {
        String table = "3\n1\n1\n2\n1\na\n4\n2\n3\nV 1\n17\ntorch.ByteStorage\n2\nxy\n";
        Path good = Files.writeString(folder.resolve("good.t7"), table);
        try (Checkpoint c = Checkpoint.open(good)) {
            assertThat(c.unread()).isEmpty();
            assertThat(c.storages()).hasSize(1);
        }
        Path path = Files.writeString(folder.resolve("crlf.t7"), table.replace("\n", "\r\n"));
        assertThat(refusal(path, TORCH7)).hasMessageContainingAll("CR and LF", "get it again")
                .extracting(FormatException::code).isEqualTo("TORCH7-LINES");
        String object = "4\n1\n3\nV 1\n9\nnn.Linear\n3\n2\n0\n";
        for (String lines : List.of("\r\n", " ")) {
            Files.writeString(path, object.replace("\n", lines));
            assertThat(refusal(path, TORCH7).code()).isEqualTo("TORCH7-LINES");
        }
        // Torch7 reads numbers with any white space before them.
        Files.writeString(path, "3\r\n1\r\n1\r\n1\r\n1\r\n1\r\n16\r\n");
        try (Checkpoint c = Checkpoint.open(path, TORCH7)) {
            assertThat(c.tree()).isEqualTo(Map.of(1L, 16.0));
        }
    }

    @Test
    void namesOfClassesAreChecked() throws IOException {
        for (String name : List.of("", "\r\nV", "nn Linear", "nn.\u0007", "nn.\u202e")) {
            FileBuilder builder = new FileBuilder().torch(1, name).table(2, 0);
            assertThat(refusal(builder.in(folder), TORCH7).code()).as(name).isEqualTo("TORCH7-CLASS");
        }
        for (String old : List.of("V x", "V ", "3.5", "-", "nn..X", "nn/X")) {
            FileBuilder builder = new FileBuilder().ints(ObjectTag.TORCH, 1).text(old).table(2, 0);
            assertThat(refusal(builder.in(folder), TORCH7).code()).as(old).isEqualTo("TORCH7-CLASS");
        }
        for (String name : List.of("nn.Linear", "a-b", "größe", "std::x<y>", "tds_hash_2")) {
            try (Checkpoint c = Checkpoint.open(new FileBuilder().torch(1, name).table(2, 0).in(folder))) {
                assertThat(((TypedMap) c.tree()).type()).isEqualTo("torch7:" + name);
            }
        }
    }

    @Test
    void anObjectIsReadAsATableOnlyIfItIsWrittenAsOne() throws IOException {
        List<FileBuilder> others = List.of(
                new FileBuilder().torch(1, "a.B").string(""),
                new FileBuilder().torch(1, "a.B").number(1),
                new FileBuilder().torch(1, "a.B").ints(ObjectTag.NIL),
                new FileBuilder().torch(1, "a.B").longs(2).number(123).number(456),
                new FileBuilder().torch(1, "a.B").longs(3).number(1).number(2).number(3),
                new FileBuilder().torch(1, "a.B").torch(2, "torch.IntStorage").longs(0),
                new FileBuilder().torch(5, "a.B").table(5, 0),
                new FileBuilder().torch(5, "a.B").table(4, 0));
        for (FileBuilder each : others) {
            assertThat(refusal(each.in(folder), OpenOptions.defaults()))
                    .hasMessageContainingAll("'a.B'", "way of its own", "save what")
                    .extracting(FormatException::code).isEqualTo("TORCH7-CLASS");
        }
    }

    @Test
    void whatFollowsAnObjectOfAClassMayBelongToIt() throws IOException {
        Path path = new FileBuilder().torch(1, "a.B").table(2, 1).string("x").number(1).ints(77).in(folder);
        assertThat(refusal(path, OpenOptions.defaults()))
                .hasMessageContainingAll("'a.B'", "followed by 4 bytes", "way of its own", "torch7.object")
                .extracting(FormatException::code).isEqualTo("TORCH7-CLASS");
        try (Checkpoint c = Checkpoint.open(path, object(1))) {
            assertThat(c.unread()).extracting(UnreadPart::kind).containsExactly(Kind.BYTES);
        }
        Path within = new FileBuilder().table(1, 2).string("b").torch(2, "a.B").table(3, 0).ints(77).string("c")
                .number(1).in(folder);
        assertThat(refusal(within, OpenOptions.defaults())).hasMessageContainingAll("behind an object of class 'a.B'",
                "If the class writes");
    }
}
