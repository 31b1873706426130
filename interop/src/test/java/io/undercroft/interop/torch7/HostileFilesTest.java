package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.torch7.Files7.Fixture;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Files that are made to do harm: each is refused with one line, or holds something sound.
class HostileFilesTest {
    @TempDir
    private Path folder;

    private static final long SMALL = 150;

    /// Many values are the same in several encodings, and one file stands for them.
    static Collection<Fixture> smallFixtures() throws IOException {
        Map<String, Fixture> different = new LinkedHashMap<>();
        for (Fixture each : Files7.fixtures()) {
            if (each.path().toFile().length() < SMALL) {
                String bytes = HexFormat.of().formatHex(Files.readAllBytes(each.path()));
                different.putIfAbsent(each.isAscii() + bytes, each);
            }
        }
        return different.values();
    }

    private FormatException refusal(FileBuilder builder) throws IOException {
        return refusal(builder.in(folder), OpenOptions.defaults());
    }

    private static FormatException refusal(Path path, OpenOptions options) {
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Files7.open(path, options, HostileFilesTest::touchAll));
        assertThat(refusal).isNotNull();
        assertThat(refusal.getMessage()).doesNotContain("\n");
        return refusal;
    }

    private static void touchAll(Contents contents) {
        contents.storages().forEach(Storage::segment);
        contents.names().forEach(name -> {
            Tensor tensor = contents.tensor(name).orElseThrow();
            // A tensor may repeat its elements, so it may be far larger than the file.
            if (tensor.numel() > 0 && tensor.numel() < 1 << 20) {
                assertThat(tensor.contiguous().nbytes()).isEqualTo(tensor.nbytes());
            }
        });
    }

    /// {@return whether the file is read}
    private static boolean isIntact(MappedFile file, OpenOptions options, Files7.Use use) throws IOException {
        try {
            Contents contents = new Torch7Format().open(file, options);
            touchAll(contents);
            use.accept(contents);
            return true;
        } catch (FormatException e) {
            assertThat(e.getMessage()).doesNotContain("\n");
            return false;
        }
    }

    /// The file is damaged where it lies, and stays open: opening it again would take nearly all of the time.
    @ParameterizedTest
    @MethodSource("smallFixtures")
    void everyDamagedByteLeavesSomethingSoundOrIsRefused(Fixture fixture) throws IOException {
        byte[] whole = Files.readAllBytes(fixture.path());
        Path path = Files.write(folder.resolve("damaged.t7"), whole);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE);
                MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            for (int at = 0; at < whole.length; at++) {
                put(channel, at, whole[at] ^ 0x01);
                isIntact(file, fixture.told(), contents -> nothingIsMadeUp(contents, fixture, whole.length));
                put(channel, at, whole[at] ^ 0xFF);
                isIntact(file, OpenOptions.defaults(), contents -> {});
                put(channel, at, whole[at]);
            }
            assertThat(isIntact(file, fixture.told(), contents -> {})).isTrue();
        }
    }

    private static void put(FileChannel channel, int at, int value) throws IOException {
        channel.write(ByteBuffer.wrap(new byte[]{(byte) value}), at);
    }

    /// What was read takes no more space than it was in. As text it may: a letter can become a space.
    private static void nothingIsMadeUp(Contents contents, Fixture fixture, int size) throws IOException {
        if (!fixture.isAscii() && !fixture.name().startsWith("legacy-version0")) {
            assertThat(Files7.written(contents.state(), fixture.asked())).hasSizeLessThanOrEqualTo(size);
        }
    }

    @ParameterizedTest
    @MethodSource("smallFixtures")
    void everyTruncationIsRefused(Fixture fixture) throws IOException {
        byte[] whole = Files.readAllBytes(fixture.path());
        Path path = Files.write(folder.resolve("cut.t7"), whole);
        // In ASCII the last line feed may be missing, and a number may lack its last digits.
        int shortest = fixture.isAscii() ? whole.length - 25 : whole.length;
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
            for (int length = shortest - 1; length >= 0; length--) {
                channel.truncate(length);
                try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
                    assertThat(isIntact(file, fixture.told(), contents -> {})).as("%d bytes", length).isFalse();
                }
            }
        }
    }

    @Test
    void aMillionTablesInEachOtherOverflowNoStack() throws IOException {
        ByteArrayOutputStream binary = new ByteArrayOutputStream();
        ByteArrayOutputStream ascii = new ByteArrayOutputStream();
        for (int i = 1; i <= 1_000_000; i++) {
            binary.writeBytes(new FileBuilder().table(i, 1).number(1).bytes());
            ascii.writeBytes(("3\n" + i + "\n1\n1\n1\n").getBytes(StandardCharsets.ISO_8859_1));
        }
        for (ByteArrayOutputStream file : List.of(binary, ascii)) {
            Path path = Files.write(folder.resolve("deep.t7"), file.toByteArray());
            assertThat(refusal(path, OpenOptions.defaults()).code()).isEqualTo("TORCH7-DEPTH");
        }
    }

    @Test
    void aStateThatIsTooDeepForNamesIsRefused() throws IOException {
        FileBuilder builder = new FileBuilder();
        for (int i = 1; i <= 200; i++) {
            builder.table(i, 1).number(1);
        }
        assertThat(refusal(builder.number(7)).code()).isEqualTo("STATE-LIMIT");
    }

    @Test
    void sizesAreComparedWithTheFileBeforeMemoryIsTaken() throws IOException {
        assertThat(refusal(new FileBuilder().table(1, Integer.MAX_VALUE)).code()).isEqualTo("TORCH7-TABLE");
        assertThat(refusal(new FileBuilder().torch(1, "torch.DoubleStorage").longs(Long.MAX_VALUE)).code())
                .isEqualTo("TORCH7-STORAGE");
        assertThat(refusal(new FileBuilder().torch(1, "torch.ByteStorage").longs(1L << 40)).code())
                .isEqualTo("TORCH7-STORAGE");
        assertThat(refusal(new FileBuilder().torch(1, "nn.X").ints(ObjectTag.STRING, Integer.MAX_VALUE)).code())
                .isEqualTo("TORCH7-CLASS");
        assertThat(refusal(new FileBuilder().ints(ObjectTag.FUNCTION, 1, Integer.MAX_VALUE)).code())
                .isEqualTo("TORCH7-END");
        assertThat(refusal(new FileBuilder().torch(1, "torch.Generator").raw(new byte[5047])).code())
                .isEqualTo("TORCH7-END");
    }

    @Test
    void sizesOfTextFilesAreComparedToo() throws IOException {
        for (String type : List.of("torch.IntStorage", "torch.ByteStorage", "torch.LongStorage")) {
            String text = "4\n1\n3\nV 1\n" + type.length() + "\n" + type + "\n9223372036854775807\n1 2\n";
            Path path = Files.writeString(folder.resolve("text.t7"), text);
            assertThat(refusal(path, OpenOptions.defaults()).code()).as(type).isEqualTo("TORCH7-STORAGE");
        }
    }

    @Test
    void geometryHasToFitTheStorage() throws IOException {
        assertThat(refusal(tensor(new long[]{2}, new long[]{1}, 3)).code()).isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(tensor(new long[]{-2}, new long[]{1}, 1)).code()).isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(tensor(new long[]{2}, new long[]{-1}, 2)).code()).isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(tensor(new long[]{1L << 40, 1L << 40}, new long[]{0, 0}, 1)).code())
                .isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(tensor(new long[]{2}, new long[]{Long.MAX_VALUE}, 1)).code()).isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(tensor(new long[]{2}, new long[]{1}, Long.MIN_VALUE)).code()).isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(new FileBuilder().torch(1, "torch.IntTensor").ints(65)).code()).isEqualTo("TORCH7-TENSOR");
        assertThat(refusal(new FileBuilder().torch(1, "torch.IntTensor").ints(-1)).code()).isEqualTo("TORCH7-TENSOR");
        Files7.open(tensor(new long[]{2}, new long[]{1}, 2).in(folder),
                contents -> assertThat(contents.tensor("").orElseThrow().getLong(1)).isEqualTo(9));
    }

    /// A tensor on three ints: 7, 8, 9.
    private static FileBuilder tensor(long[] sizes, long[] strides, long offset) {
        return new FileBuilder().torch(1, "torch.IntTensor").ints(sizes.length).longs(sizes).longs(strides)
                .longs(offset)
                .torch(2, "torch.IntStorage").longs(3).ints(7, 8, 9);
    }

    @Test
    void aTensorWithoutStorageHasNoElements() throws IOException {
        FileBuilder builder = new FileBuilder().torch(1, "torch.IntTensor").ints(1).longs(2, 1, 1).ints(ObjectTag.NIL);
        assertThat(refusal(builder).code()).isEqualTo("TORCH7-TENSOR");
    }

    @Test
    void aTensorIsNotItsOwnStorage() throws IOException {
        FileBuilder builder = new FileBuilder().torch(1, "torch.IntTensor").ints(1).longs(2, 1, 1)
                .ints(ObjectTag.TORCH, 1)
                .text("V 1").text("torch.IntTensor").ints(0).longs(1).ints(ObjectTag.NIL);
        assertThat(refusal(builder).code()).isEqualTo("TORCH7-TENSOR");
    }

    @Test
    void oneTableIsNotTheFieldsOfManyObjects() throws IOException {
        FileBuilder builder = new FileBuilder().table(1, 2).string("t").table(2, 0).string("o").torch(3, "nn.A")
                .ints(ObjectTag.TABLE, 2);
        assertThat(refusal(builder)).hasMessageContaining("'nn.A'").extracting(FormatException::code)
                .isEqualTo("TORCH7-CLASS");
        FileBuilder later = new FileBuilder().table(1, 2).string("o").torch(3, "nn.A").table(4, 0).string("t")
                .ints(ObjectTag.TABLE, 4);
        assertThat(refusal(later).code()).isEqualTo("TORCH7-CLASS");
    }

    @Test
    void tablesThatDoubleSixtyTimesStaySmall() throws IOException {
        FileBuilder builder = new FileBuilder();
        for (int i = 1; i <= 60; i++) {
            builder.table(i, 2).number(1);
        }
        builder.number(0);
        for (int i = 60; i >= 1; i--) {
            builder.number(2);
            if (i == 60) {
                builder.number(0);
            } else {
                builder.ints(ObjectTag.TABLE, i + 1);
            }
        }
        Files7.open(builder.in(folder), contents -> {
            assertThat(contents.names()).isEmpty();
            assertThat(Files7.written(contents.state())).isEqualTo(builder.bytes());
        });
    }

    @Test
    void keysThatAreMadeToBeSlowAreRefused() throws IOException {
        List<String> keys = new ArrayList<>(List.of(""));
        for (int i = 0; i < 14; i++) {
            keys = keys.stream().flatMap(key -> List.of(key + "Aa", key + "BB").stream()).toList();
        }
        FileBuilder builder = new FileBuilder().table(1, keys.size());
        keys.forEach(key -> builder.string(key).number(0));
        assertThat(refusal(builder).code()).isEqualTo("TORCH7-KEY");
    }

    @Test
    void aKeyThatIsNoNumberIsRefused() throws IOException {
        assertThat(refusal(new FileBuilder().table(1, 1).number(Double.NaN).number(1)).code()).isEqualTo("TORCH7-KEY");
        assertThat(refusal(new FileBuilder().table(1, 2).number(0.0).number(1).number(-0.0).number(1)).code())
                .isEqualTo("TORCH7-KEY");
    }
}
