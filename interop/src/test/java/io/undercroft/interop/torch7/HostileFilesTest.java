package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.torch7.Files7.Fixture;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Files that are made to do harm: each is refused with one line, or holds something sound.
@Timeout(120)
class HostileFilesTest {
    @TempDir
    private Path folder;

    private static final long SMALL = 150;

    static List<Fixture> smallFixtures() {
        return Files7.fixtures().stream().filter(each -> each.path().toFile().length() < SMALL).toList();
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
    private boolean isSound(byte[] bytes, OpenOptions options) throws IOException {
        Path path = Files.write(folder.resolve("damaged.t7"), bytes);
        try {
            Files7.open(path, options, HostileFilesTest::touchAll);
            return true;
        } catch (FormatException e) {
            assertThat(e.getMessage()).doesNotContain("\n");
            return false;
        }
    }

    @ParameterizedTest
    @MethodSource("smallFixtures")
    void everyDamagedByteLeavesSomethingSoundOrIsRefused(Fixture fixture) throws IOException {
        byte[] whole = Files.readAllBytes(fixture.path());
        int sound = 0;
        for (int at = 0; at < whole.length; at++) {
            for (int mask : new int[]{0x01, 0xFF}) {
                byte[] damaged = whole.clone();
                damaged[at] ^= (byte) mask;
                sound += isSound(damaged, mask == 1 ? fixture.told() : OpenOptions.defaults()) ? 1 : 0;
            }
        }
        // Whatever is read must have been a part of the value, and not of what says what it is.
        assertThat(sound).isLessThan(2 * whole.length);
    }

    @ParameterizedTest
    @MethodSource("smallFixtures")
    void everyTruncationIsRefused(Fixture fixture) throws IOException {
        byte[] whole = Files.readAllBytes(fixture.path());
        // In ASCII the last line feed may be missing, and a number may lack its last digits.
        int shortest = fixture.isAscii() ? whole.length - 25 : whole.length;
        for (int length = 0; length < shortest; length++) {
            assertThat(isSound(Arrays.copyOf(whole, length), fixture.told())).as("%d bytes", length).isFalse();
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
        assertThat(refusal(new FileBuilder().torch(1, "nn.X").ints(Tag.STRING, Integer.MAX_VALUE)).code())
                .isEqualTo("TORCH7-CLASS");
        assertThat(refusal(new FileBuilder().ints(Tag.FUNCTION, 1, Integer.MAX_VALUE)).code()).isEqualTo("TORCH7-END");
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
        FileBuilder builder = new FileBuilder().torch(1, "torch.IntTensor").ints(1).longs(2, 1, 1).ints(Tag.NIL);
        assertThat(refusal(builder).code()).isEqualTo("TORCH7-TENSOR");
    }

    @Test
    void aTensorIsNotItsOwnStorage() throws IOException {
        FileBuilder builder = new FileBuilder().torch(1, "torch.IntTensor").ints(1).longs(2, 1, 1).ints(Tag.TORCH, 1)
                .text("V 1").text("torch.IntTensor").ints(0).longs(1).ints(Tag.NIL);
        assertThat(refusal(builder).code()).isEqualTo("TORCH7-TENSOR");
    }

    @Test
    void oneTableIsNotTheFieldsOfManyObjects() throws IOException {
        FileBuilder builder = new FileBuilder().table(1, 2).string("t").table(2, 0).string("o").torch(3, "nn.A")
                .ints(Tag.TABLE, 2);
        assertThat(refusal(builder)).hasMessageContaining("'nn.A'").extracting(FormatException::code)
                .isEqualTo("TORCH7-CLASS");
        FileBuilder later = new FileBuilder().table(1, 2).string("o").torch(3, "nn.A").table(4, 0).string("t")
                .ints(Tag.TABLE, 4);
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
                builder.ints(Tag.TABLE, i + 1);
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
