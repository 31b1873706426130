package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Headers as the reference implementation takes and refuses them.
class HeaderRulesTest {
    private static final String F32 = "{'dtype':'F32','shape':[1],'data_offsets':[0,4]}";
    private static final OpenOptions SAFETENSORS = OpenOptions.defaults().format("safetensors");

    @TempDir
    private Path folder;

    private static byte[] file(byte[] header, int data) {
        return file(header.length, header, data);
    }

    private static byte[] file(long length, byte[] header, int data) {
        return ByteBuffer.allocate(8 + header.length + data).order(ByteOrder.LITTLE_ENDIAN).putLong(length)
                .put(header).array();
    }

    private Path write(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("x.safetensors"), bytes);
    }

    private Path write(String header, int data) throws IOException {
        return write(file(header.replace('\'', '"').getBytes(UTF_8), data));
    }

    private FormatException refusal(Path path) {
        return assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(path, SAFETENSORS).close())
                .satisfies(e -> assertThat(e.getMessage()).contains("x.safetensors").doesNotContain("\n"))
                .actual();
    }

    /// In the headers `@` is the description of a float.
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
            "SAFETENSORS-HEADER | 4 | ` {'a':@}`",
            "SAFETENSORS-HEADER | 0 | `[]`",
            "JSON | 4 | `{'a':@,}`",
            "JSON | 4 | `{'a':@} x`",
            "JSON | 4 | `{'a':@}\\0`",
            "JSON | 4 | `{'a':@`",
            "JSON | 4 | `{'a' @}`",
            "JSON | 4 | `{'\\ud800':@}`",
            "JSON | 4 | `{'a\\q':@}`",
            "JSON | 4 | `{a:@}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[1.0],'data_offsets':[0,4]}}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[-1],'data_offsets':[0,4]}}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[-0,4]}}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[01],'data_offsets':[0,4]}}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[1e0],'data_offsets':[0,4]}}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,4,4]}}`",
            "JSON | 4 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,9223372036854775808]}}`",
            "JSON | 4 | `{'a':['F32',[1],[0,4]]}`",
            "JSON | 4 | `{'__metadata__':[],'a':@}`",
            "JSON | 4 | `{'__metadata__':{'n':1},'a':@}`",
            "SAFETENSORS-DUPLICATE | 4 | `{'a':@,'a':@}`",
            "SAFETENSORS-DUPLICATE | 4 | `{'a':{'dtype':'F32','dtype':'F32','shape':[1],'data_offsets':[0,4]}}`",
            "SAFETENSORS-DUPLICATE | 4 | `{'__metadata__':{'n':'1','n':'1'},'a':@}`",
            "SAFETENSORS-DUPLICATE | 4 | `{'__metadata__':{},'__metadata__':{},'a':@}`",
            "SAFETENSORS-TENSOR | 4 | `{'a':{'dtype':'F32','data_offsets':[0,4]}}`",
            "SAFETENSORS-TENSOR | 4 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[4]}}`",
            "SAFETENSORS-TENSOR | 4 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[4,0]}}`",
            "SAFETENSORS-TENSOR | 4 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[0,9223372036854775807]}}`",
            "SAFETENSORS-LAYOUT | 5 | `{'a':@}`",
            "SAFETENSORS-LAYOUT | 3 | `{'a':@}`",
            "SAFETENSORS-LAYOUT | 1 | `{}`",
            "SAFETENSORS-LAYOUT | 8 | `{'a':{'dtype':'F32','shape':[1],'data_offsets':[4,8]}}`",
            "SAFETENSORS-LAYOUT | 4 | `{'a':@,'b':@}`",
            "SAFETENSORS-LAYOUT | 6 | `{'a':@,'b':{'dtype':'F32','shape':[1],'data_offsets':[2,6]}}`"
    })
    void aHeaderIsRefused(String code, int data, String header) throws IOException {
        String text = header.replace("@", F32).replace("\\0", "\0");
        assertThat(refusal(write(text, data)).code()).as(text).isEqualTo(code);
    }

    /// The reference implementation refuses such a file whole.
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
            "SAFETENSORS-DTYPE | 16 | `'dtype':'C128','shape':[1]`",
            "SAFETENSORS-TENSOR | 4 | `'dtype':'F32','shape':[2]`",
            "SAFETENSORS-TENSOR | 0 | `'dtype':'F32','shape':[4611686018427387904,2]`",
            "SAFETENSORS-TENSOR | 0 | `'dtype':'F32','shape':[4611686018427387904,4,0]`",
            "SAFETENSORS-TENSOR | 0 | `'dtype':'F32','shape':[0,4611686018427387904,4611686018427387904]`",
            "SAFETENSORS-TENSOR | 1 | `'dtype':'F4','shape':[1]`",
            "SAFETENSORS-TENSOR | 2 | `'dtype':'F6_E2M3','shape':[2]`"
    })
    void aTensorThatCannotBeReadDoesNotHideTheOthers(String code, int size, String bad) throws IOException {
        Path path = write("{'bad':{" + bad + ",'data_offsets':[0," + size + "]},'good':{'dtype':'F32','shape':[1],"
                + "'data_offsets':[" + size + "," + (size + 4) + "]}}", size + 4);
        for (OpenOptions options : List.of(SAFETENSORS, SAFETENSORS.inMemory(), SAFETENSORS.onMeta())) {
            try (Checkpoint c = Checkpoint.open(path, options)) {
                assertThat(c.names()).containsExactly("bad", "good");
                assertThat(c.tensor("good").shape()).isEqualTo(Shape.of(1));
                assertThatExceptionOfType(FormatException.class).isThrownBy(() -> c.tensor("bad"))
                        .withMessageContainingAll("x.safetensors", "'bad'", code);
                assertThat(c.damages()).singleElement()
                        .satisfies(damage -> assertThat(damage.where()).isEqualTo("tensor 'bad'"));
                assertThat(c.verify().isIntact()).isFalse();
                assertThat(c.storages()).hasSize(1);
                assertThatExceptionOfType(FormatException.class)
                        .isThrownBy(() -> Checkpoint.save(folder.resolve("b.safetensors"), c.tree()));
            }
        }
        try (Checkpoint c = Checkpoint.open(path, SAFETENSORS.only("good"::equals))) {
            assertThat(c.tensor("good").toFloatArray()).containsExactly(0);
            assertThat(c.damages()).isEmpty();
        }
    }

    /// The reference implementation multiplies the sizes before it multiplies by the size of an element.
    @ParameterizedTest
    @ValueSource(strings = {"F32", "F64", "F4"})
    void aTensorWithoutElementsMayHaveAnyOtherSize(String dtype) throws IOException {
        Path path = write("{'a':{'dtype':'" + dtype + "','shape':[4611686018427387904,0],'data_offsets':[0,0]}}", 0);
        try (Checkpoint c = Checkpoint.open(path, SAFETENSORS)) {
            assertThat(c.tensor("a").shape()).isEqualTo(Shape.of(1L << 62, 0));
        }
    }

    @Test
    void aFileOfBadTensorsOnlyIsRefused() throws IOException {
        String bad = IntStream.range(0, 5000)
                .mapToObj(i -> "'t" + i + "':{'dtype':'X','shape':[],'data_offsets':[0,0]}")
                .collect(Collectors.joining(",", "{", "}"));
        assertThat(refusal(write(bad, 0)).code()).isEqualTo("SAFETENSORS-DTYPE");
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "{'a':@}   ", "{'a':@}\n\t ", "{ \n'a' :\t@}", "{'__metadata__':null,'a':@}",
            "{'a':@,'__metadata__':{'k':'v'}}",
            "{'a':{'x':[{'y':[1,{}]},true,null,-1.5e3],'dtype':'F32','shape':[1],'data_offsets':[0,4]}}",
            "{'\\u0061':@}"
    })
    void aHeaderIsTaken(String header) throws IOException {
        try (Checkpoint c = Checkpoint.open(write(header.replace("@", F32), 4), SAFETENSORS)) {
            assertThat(c.names()).containsExactly("a");
            assertThat(c.tensor("a").toFloatArray()).containsExactly(0);
        }
    }

    @Test
    void aHeaderThatIsNotThereOrTooLongIsRefused() throws IOException {
        byte[] text = "{}".getBytes(UTF_8);
        for (byte[] bytes : List.of(new byte[]{2}, file(0, new byte[0], 0), file(3, text, 0),
                file(100_000_001, text, 0), file(-1, text, 0), file(Long.MIN_VALUE, text, 0))) {
            assertThat(refusal(write(bytes)).code()).as(Arrays.toString(bytes)).isEqualTo("SAFETENSORS-HEADER");
        }
    }

    @Test
    void textThatIsNotUtf8IsRefused() throws IOException {
        byte[] header = ("{'\u00ff':" + F32 + "}").replace('\'', '"').getBytes(ISO_8859_1);
        assertThat(refusal(write(file(header, 4))).code()).isEqualTo("JSON");
    }

    @Test
    void nestingIsPassedOverWithoutRecursion() throws IOException {
        String deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
        Path path = write(
                "{'a':{'x':" + deep + ",'dtype':'F32','shape':[1],'data_offsets':[0,4]}}", 4);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.names()).containsExactly("a");
        }
    }

    @Test
    void fourBitsAreByTwosOrCarried() throws IOException {
        Path path = write("{'a':{'dtype':'F4','shape':[2,4],'data_offsets':[0,4]},"
                + "'b':{'dtype':'F4','shape':[2,3],'data_offsets':[4,7]},"
                + "'c':{'dtype':'F6_E3M2','shape':[4],'data_offsets':[7,10]}}", 10);
        Path again = folder.resolve("again.safetensors");
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("a").dtype()).isSameAs(DType.FLOAT4_E2M1FN_X2);
            assertThat(c.tensor("a").shape()).isEqualTo(Shape.of(2, 2));
            assertThat(c.tensor("b").dtype()).isEqualTo(DType.opaque("safetensors:F4", 4));
            assertThat(c.tensor("b").shape()).isEqualTo(Shape.of(2, 3));
            assertThat(c.tensor("c").dtype()).isEqualTo(DType.opaque("safetensors:F6_E3M2", 6));
            Checkpoint.save(again, c.state());
        }
        assertThat(Files.readString(again, ISO_8859_1)).contains("\"a\":{\"dtype\":\"F4\",\"shape\":[2,4],",
                "\"b\":{\"dtype\":\"F4\",\"shape\":[2,3],", "\"c\":{\"dtype\":\"F6_E3M2\",\"shape\":[4],");
    }

    private static List<byte[]> damaged(byte[] sound) {
        List<byte[]> all = new ArrayList<>();
        for (int at = 0; at < sound.length; at++) {
            all.add(Arrays.copyOf(sound, at));
            for (int bit = 0; bit < Byte.SIZE; bit += 3) {
                byte[] flipped = sound.clone();
                flipped[at] ^= (byte) (1 << bit);
                all.add(flipped);
            }
        }
        return all;
    }

    /// {@return the sharing and text that a damaged file may have}
    private static byte[] sample() {
        String header = "{'__metadata__':{'format':'pt','tied':'a','undercroft.views':"
                + "'{\\\"v\\\":{\\\"base\\\":\\\"a\\\",\\\"offset\\\":4,\\\"stride\\\":[1]}}'},"
                + "'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},"
                + "'v':{'dtype':'F32','shape':[2],'data_offsets':[16,24]},"
                + "'b':{'dtype':'U8','shape':[],'data_offsets':[24,25]}} ";
        return file(header.replace('\'', '"').getBytes(UTF_8), 25);
    }

    @TestFactory
    List<DynamicTest> theRealLibrary() {
        RealPython python = RealPython.with("safetensors");
        return List.of(
                python.test("takes every damaged header that is taken here",
                        there -> assertThat(verdicts(damagedTwice(), there)).doesNotContain("here only")
                                .filteredOn("both"::equals).hasSizeGreaterThan(100)),
                python.test("takes and refuses what is taken and refused here", there -> assertThat(
                        verdicts(mutated(), there)).doesNotContain("here only", "there only")
                        .contains("both", "none")));
    }

    /// {@return who takes each of these files} Names that come twice and space before the first brace are passed over.
    private List<String> verdicts(List<byte[]> files, RealPython python) throws IOException {
        List<String> here = new ArrayList<>();
        Path headers = Files.createTempDirectory(folder, "headers");
        for (int i = 0; i < files.size(); i++) {
            Path path = Files.write(headers.resolve(String.format(Locale.ROOT, "%06d.bin", i)), files.get(i));
            try (Checkpoint c = Checkpoint.open(path, SAFETENSORS.setting("safetensors.sharing", "ignore"))) {
                here.add(c.damages().isEmpty() ? "taken" : "refused");
            } catch (FormatException e) {
                boolean ownRule = e.code().equals("SAFETENSORS-DUPLICATE") || e.what().contains("begin with '{'");
                here.add(ownRule ? "stricter" : "refused");
            }
        }
        String[] there = python.run("""
                import os, safetensors
                for name in sorted(os.listdir(sys.argv[1])):
                    try:
                        safetensors.deserialize(open(os.path.join(sys.argv[1], name), 'rb').read())
                        print('taken')
                    except safetensors.SafetensorError:
                        print('refused')
                """, headers).strip().split("\\R", -1);
        assertThat(there).hasSameSizeAs(here);
        return IntStream.range(0, there.length).mapToObj(i -> switch (here.get(i) + " " + there[i]) {
            case "taken taken" -> "both";
            case "taken refused" -> "here only";
            case "refused taken" -> "there only";
            default -> "none";
        }).toList();
    }

    private static List<byte[]> damagedTwice() {
        List<byte[]> all = new ArrayList<>(damaged(sample()));
        Random random = new Random(7);
        for (int i = 0; i < 500; i++) {
            byte[] twice = sample();
            twice[8 + random.nextInt(twice.length - 8)] = (byte) "{}[]\",:0129 aef\\".charAt(random.nextInt(16));
            twice[8 + random.nextInt(twice.length - 8)] = (byte) random.nextInt(256);
            all.add(twice);
        }
        return all;
    }

    /// {@return headers some of whose tokens were left out, doubled, or took the place of others}
    private static List<byte[]> mutated() {
        String sample = "{'__metadata__':{'format':'pt','k':'v'},'a':" + F32
                + ",'b':{'shape':[2,4],'dtype':'F4','data_offsets':[4,8]}"
                + ",'c':{'dtype':'I16','data_offsets':[8,8],'shape':[3,0],'x':[{},null,-1.5e3]}}";
        List<String> tokens = Pattern.compile("'[^']*'|\\w+|.").matcher(sample).results().map(MatchResult::group)
                .toList();
        List<String> others = List.of("{", "}", "[", "]", ",", ":", "'dtype'", "'F32'", "0", "-0", "01", "1e2", "2.5",
                "18446744073709551616", "null", "true", " ", "\n", "\t", "\f", "\0", "'\\ud800'", "'\\u0061'", "'\\q'",
                "'é'", "\u00a0");
        Random random = new Random(3);
        List<byte[]> all = new ArrayList<>();
        for (int i = 0; i < 1500; i++) {
            List<String> some = new ArrayList<>(tokens);
            for (int changes = random.nextInt(3); changes >= 0; changes--) {
                int at = random.nextInt(some.size());
                switch (random.nextInt(4)) {
                    case 0 -> some.remove(at);
                    case 1 -> some.add(at, some.get(random.nextInt(some.size())));
                    case 2 -> some.set(at, others.get(random.nextInt(others.size())));
                    default -> some.add(at, others.get(random.nextInt(others.size())));
                }
            }
            all.add(file(String.join("", some).replace('\'', '"').getBytes(UTF_8), 8));
        }
        return all;
    }

    @Test
    void stateAndMetadataComeOut() throws IOException {
        try (Checkpoint c = Checkpoint.open(write(sample()))) {
            assertThat(c.format()).isEqualTo("safetensors");
            assertThat(c.metadata()).isEqualTo(Map.of("format", "pt"));
            assertThat(c.names()).containsExactly("a", "v", "b", "tied");
            Tensor a = c.tensor("a");
            assertThat(c.tensor("tied")).isSameAs(a);
            assertThat(c.tensor("v").storage()).isSameAs(a.storage());
            assertThat(c.tensor("v").storageOffset()).isEqualTo(1);
        }
    }
}
