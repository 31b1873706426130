package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart.Kind;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.testsupport.Sameness;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.io.OutputStream;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Files of `pickle.dump`, and files that begin like these and are none.
class PickleFormatTest {
    /// What Python 3 writes of `{'a': [1, 2.5, None, True], 'b': 'ü'}`, without memo.
    private static final List<String> SAME = List.of(
            "(dp0\nVa\np1\n(lp2\nI1\naF2.5\naNaI01\nasVb\nV\\u00fc\ns.",
            "}q\0(X\1\0\0\0a]q\1(K\1G@\4\0\0\0\0\0\0NI01\neX\1\0\0\0bX\2\0\0\0\u00c3\u00bcu.",
            "\u0080\2}q\0(X\1\0\0\0a]q\1(K\1G@\4\0\0\0\0\0\0N\u0088eX\1\0\0\0bX\2\0\0\0\u00c3\u00bcu.");

    @TempDir
    private Path folder;

    private Path file(String bytes) throws IOException {
        return Files.write(folder.resolve("some.file"), bytes.getBytes(ISO_8859_1));
    }

    private FormatException refusal(Path file) {
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file).close());
        assertThat(refusal).isNotNull();
        return refusal;
    }

    @Test
    void theSameValueInSeveralProtocolsOpensAsTheSame() throws IOException {
        for (String bytes : SAME) {
            try (Checkpoint c = Checkpoint.open(file(bytes))) {
                assertThat(c.format()).isEqualTo("pickle");
                Map<?, ?> state = (Map<?, ?>) c.state();
                assertThat(state.get("a")).isEqualTo(Arrays.asList(1L, 2.5, null, true));
                assertThat(state.get("b")).isEqualTo("ü");
                assertThat(c.unread()).isEmpty();
                assertThat(c.verify().unverifiedBytes()).isEqualTo(bytes.length());
            }
        }
    }

    /// What `os.fsdecode` makes of the bytes of a path that are no UTF-8, and a private character that stands for such.
    @ParameterizedTest
    @ValueSource(strings = {"Va\\udcff\\U0001f600\n.", "X\b\0\0\0a\u00ed\u00b3\u00bf\u00f0\u009f\u0098\u0080.",
            "\u0080\4\u008c\ba\u00ed\u00b3\u00bf\u00f0\u009f\u0098\u0080."})
    void halfASurrogatePairIsAPrivateCharacter(String bytes) throws IOException {
        try (Checkpoint c = Checkpoint.open(file("(" + bytes.replace(".", "t.")),
                OpenOptions.defaults().format("pickle"))) {
            assertThat(c.state()).isEqualTo(Tuple.of("a" + Character.toString(0x10dcff) + "\ud83d\ude00"));
        }
    }

    @Test
    void textsWithHalvesOfSurrogatePairsComeBackFromEveryFile() throws IOException {
        // Halves, a private character that is read as two, and two halves that are no pair and one that would be.
        for (String text : List.of("\u00ed\u00a0\u0080", "a\u00ed\u00bf\u00bf\u00ed\u00a0\u0080z",
                "\u00f4\u008d\u00a0\u0080", "\u00f4\u008d\u00bf\u00bf\u00ed\u00b0\u0080",
                "\u00ed\u00a0\u00bd\u00ed\u00b8\u0080")) {
            Path source = file("\u0080\2}X" + (char) text.length() + "\0\0\0" + text + "K\1s.");
            Path zip = folder.resolve("a.pt");
            try (Checkpoint c = Checkpoint.open(source)) {
                Checkpoint.save(folder.resolve("a.croft"), c.state());
            }
            try (Checkpoint c = Checkpoint.open(folder.resolve("a.croft"))) {
                Checkpoint.save(zip, c.state());
            }
            assertThat(new String(Files.readAllBytes(zip), ISO_8859_1)).as(text)
                    .contains("X" + (char) text.length() + "\0\0\0" + text);
        }
        // Two halves of a private character could be either.
        assertThat(refusal(file("\u0080\2X\6\0\0\0\u00ed\u00af\u00b6\u00ed\u00b0\u0080.")).code())
                .isEqualTo("TORCH-PICKLE");
    }

    @Test
    void objectsAreWhatThePickleSaysOfThem() throws IOException {
        try (Checkpoint c = Checkpoint.open(file("cposix\nsystem\n(Vecho\ntR."))) {
            assertThat(c.foreignClasses()).containsExactly(new ForeignClass("posix.system", 1, true));
        }
        Path file = file("cposix\nsystem\n(Vecho\ntR.");
        OpenOptions strict = OpenOptions.defaults().setting("torch.strict", "on");
        assertThat(catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file, strict).close()).code())
                .isEqualTo("TORCH-GLOBAL");
    }

    @Test
    void whatIsBehindAPickleIsReported() throws IOException {
        try (Checkpoint c = Checkpoint.open(file(SAME.getLast() + SAME.getLast()))) {
            assertThat(c.unread()).singleElement().satisfies(part -> {
                assertThat(part.kind()).isEqualTo(Kind.BYTES);
                assertThat(part.offset()).isEqualTo(SAME.getLast().length());
            });
        }
    }

    /// Texts that end with a dot, and begin with opcodes.
    @ParameterizedTest
    @ValueSource(strings = {"(hello).", "(a).", "]].", "}.}.", "comment line\nsecond line\n.", "c.", "(.", ").).",
            "(This is a sentence, in parentheses. It ends with a dot.", "category,name\nx,y\n.", "(1, 2, 3).",
            "class A\nclass B\n.", "(dp0\nVa\np1\n", "(dp0\nthis is no pickle.", "{\"a\": 1}.", "I1\n.", "N.", "K\1.",
            "cos\nsystem\n", "]N"})
    void textIsNoPickle(String text) throws IOException {
        assertThat(refusal(file(text)).code()).as(text).isEqualTo("FORMAT-UNKNOWN");
    }

    @Test
    void randomTextIsNoPickle() throws IOException {
        Random random = new Random(7);
        String letters = "(]}c)lcdpqrstu01.\n abeIFVSNghoi'\"x";
        for (int i = 0; i < Tries.of(3000); i++) {
            StringBuilder text = new StringBuilder().append("(]}c)".charAt(random.nextInt(5)));
            // Long enough that no pickle is met by chance.
            IntStream.range(0, 40 + random.nextInt(100))
                    .forEach(_ -> text.append(letters.charAt(random.nextInt(letters.length()))));
            assertThat(refusal(file(text + "hello world.")).code()).as(text.toString()).isEqualTo("FORMAT-UNKNOWN");
        }
    }

    @Test
    void damagedPicklesAreRefused() throws IOException {
        OpenOptions named = OpenOptions.defaults().format("pickle");
        String whole = SAME.getLast();
        for (int length = 1; length < whole.length(); length++) {
            Path file = file(whole.substring(0, length));
            FormatException refusal = catchThrowableOfType(FormatException.class,
                    () -> Checkpoint.open(file, named).close());
            assertThat(refusal).as("" + length).isNotNull();
            assertThat(refusal.code()).startsWith("TORCH-");
        }
    }

    @Test
    void aWrapperOfJoblibThatDescribesNoArrayIsRefused() throws IOException {
        String bytes = "\u0080\4\u0095\20\0\0\0\0\0\0\0\u008c\23joblib.numpy_pickle\u0094\u008c\21"
                + "NumpyArrayWrapper\u0094\u0093\u0094)\u0081\u0094}\u0094b\3\7\7\7";
        assertThat(refusal(file(bytes)).what()).contains("an array of joblib without a dtype");
    }

    // ---- files that are compressed as a whole ----

    /// What `joblib.dump(…, compress=…)` does to a file.
    private Path compressed(byte[] bytes, boolean isGzip) throws IOException {
        Path path = folder.resolve(isGzip ? "some.gz" : "some.z");
        try (OutputStream file = Files.newOutputStream(path);
                OutputStream out = isGzip ? new GZIPOutputStream(file) : new DeflaterOutputStream(file)) {
            out.write(bytes);
        }
        return path;
    }

    @Test
    void compressedPicklesOpenAsTheirContent() throws IOException {
        for (String bytes : SAME) {
            for (boolean isGzip : new boolean[]{false, true}) {
                Path file = compressed(bytes.getBytes(ISO_8859_1), isGzip);
                try (Checkpoint c = Checkpoint.open(file)) {
                    assertThat(c.format()).isEqualTo("pickle");
                    assertThat(((Map<?, ?>) c.state()).get("a")).isEqualTo(Arrays.asList(1L, 2.5, null, true));
                    assertThat(c.verify().damages()).isEmpty();
                }
            }
        }
        Path file = compressed((SAME.getLast() + "more").getBytes(ISO_8859_1), true);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.unread()).extracting(UnreadPart::what)
                    .containsExactly("what is behind the first pickle, inflated");
        }
    }

    @Test
    void arraysOfACompressedPickleAreReadWhenTheyAreTouched() throws IOException {
        Path plain = Path.of("..", "test-support", "fixtures", "numpy", "pickles", "state.joblib");
        Path file = compressed(Files.readAllBytes(plain), true);
        try (Checkpoint c = Checkpoint.open(file); Checkpoint expected = Checkpoint.open(plain)) {
            assertThat(c.names()).containsExactlyElementsOf(expected.names());
            String name = c.names().getFirst();
            assertThat(c.tensor(name).storage().isMaterialized()).isFalse();
            Sameness.check(expected.state(), c.state(), Symbol.class::isInstance);
        }
        String name;
        try (Checkpoint expected = Checkpoint.open(plain)) {
            name = expected.names().getLast();
        }
        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().only(name).inMemory());
                Checkpoint expected = Checkpoint.open(plain)) {
            assertThat(c.names()).containsExactly(name);
            assertThat(c.tensor(name).contentEquals(expected.tensor(name))).isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCompressedPickleThatIsDamagedIsRefused(boolean isGzip) throws IOException {
        Path file = compressed(SAME.getLast().getBytes(ISO_8859_1), isGzip);
        byte[] whole = Files.readAllBytes(file);
        OpenOptions named = OpenOptions.defaults().format("pickle");
        for (int length = whole.length - 1; length > whole.length / 2; length--) {
            Files.write(file, Arrays.copyOf(whole, length));
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file, named).close())
                    .withMessageContaining("PICKLE-COMPRESSED");
        }
        // Only the checksum says so.
        whole[whole.length - (isGzip ? 6 : 1)] ^= 1;
        Files.write(file, whole);
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(file, named).close())
                .withMessageContaining("PICKLE-COMPRESSED");
    }

    @Test
    void aCompressedPickleThatInflatesOutOfProportionIsRefused() throws IOException {
        Path path = folder.resolve("bomb.z");
        try (OutputStream out = new DeflaterOutputStream(Files.newOutputStream(path))) {
            out.write("\u0080\4B".getBytes(ISO_8859_1));
            out.write(new byte[]{0, 0, 0, 0x10});
            byte[] zeros = new byte[1 << 20];
            for (int i = 0; i < 256; i++) {
                out.write(zeros);
            }
            out.write('.');
        }
        assertThat(Files.size(path)).isLessThan(1 << 19);
        FormatException refusal = catchThrowableOfType(FormatException.class,
                () -> Checkpoint.open(path, OpenOptions.defaults().format("pickle")).close());
        assertThat(refusal.code()).isEqualTo("COST-MEMORY");
    }

    @Test
    void otherFilesThatAreCompressedAreNamed() throws IOException {
        for (String name : List.of("single_f32.pt", "single_f32.legacy.pt")) {
            for (boolean isGzip : new boolean[]{false, true}) {
                Path file = compressed(Files.readAllBytes(Fixtures.PYTORCH.resolve(name)), isGzip);
                assertThat(refusal(file)).hasMessageContainingAll("FORMAT-UNKNOWN", isGzip ? "gunzip" : "zlib");
            }
        }
        assertThat(refusal(file("x\u009c is no compressed text, nor are these bytes a pickle")).code())
                .isEqualTo("FORMAT-UNKNOWN");
    }

    @TestFactory
    Stream<DynamicTest> filesThatJoblibCompressesOtherwiseAreRefusedByName() throws IOException {
        RealPython python = RealPython.with("joblib");
        python.run("""
                import joblib
                for method in ('bz2', 'lzma', 'xz'):
                    joblib.dump({'a': list(range(1000))}, f'{sys.argv[1]}/{method}', compress=(method, 3))
                """, folder);
        return Stream.of("bz2", "lzma", "xz").map(name -> python.test(name,
                _ -> assertThat(refusal(folder.resolve(name))).hasMessageContainingAll("compressed by", name,
                        "joblib.load and joblib.dump without compress")));
    }

    // ---- the real library ----

    private static final String VALUES = """
            import pickle, sys, collections
            shared = [1, 2]
            value = {'int': 7, 'big': 2 ** 80, 'negative': -3, 'float': 0.1,
                'text': 'grüße\\n\\\\u', 'bytes': b'\\0\\xff',
                'none': None, 'truth': [True, False], 'tuple': (1, (2, 3), ()), 'list': [[], [shared], shared],
                'set': {1, 2}, 'ordered': collections.OrderedDict([('a', 1)]), 1: 'key', 'long': 'x' * 300}
            """;

    @SuppressWarnings("unchecked")
    private static void check(Path file) throws IOException {
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.format()).isEqualTo("pickle");
            Map<Object, Object> state = (Map<Object, Object>) c.state();
            assertThat(state.get("int")).isEqualTo(7L);
            assertThat(state.get("big")).isEqualTo(BigInteger.TWO.pow(80));
            assertThat(state.get("negative")).isEqualTo(-3L);
            assertThat(state.get("float")).isEqualTo(0.1);
            assertThat(state.get("text")).isEqualTo("grüße\n\\u");
            assertThat(state.get("bytes")).isEqualTo(new byte[]{0, -1});
            assertThat(state).containsEntry("none", null);
            assertThat(state.get("truth")).isEqualTo(List.of(true, false));
            assertThat(state.get("tuple")).isEqualTo(Tuple.of(1L, Tuple.of(2L, 3L), Tuple.of()));
            List<Object> list = (List<Object>) state.get("list");
            assertThat(((List<Object>) list.get(1)).get(0)).isSameAs(list.get(2));
            assertThat(state.get("set")).isEqualTo(Set.of(1L, 2L));
            assertThat((Map<Object, Object>) state.get("ordered")).containsEntry("a", 1L);
            assertThat(state.get(1L)).isEqualTo("key");
            assertThat(state.get("long")).isEqualTo("x".repeat(300));
            assertThat(c.foreignClasses()).isEmpty();
        }
    }

    @TestFactory
    Stream<DynamicTest> whatPythonPicklesIsRead() throws IOException {
        RealPython python = RealPython.with("torch");
        python.run(VALUES + """
                for p in range(6):
                    pickle.dump(value, open(f'{sys.argv[1]}/{p}.pkl', 'wb'), protocol=p)
                """, folder);
        return IntStream.range(0, 6).mapToObj(
                protocol -> python.test("protocol " + protocol, _ -> check(folder.resolve(protocol + ".pkl"))));
    }

    /// Protocol 0 has no tuples as persistent ids, so PyTorch cannot write tensors with it.
    @TestFactory
    Stream<DynamicTest> whatTorchSavesWithAnyProtocolIsRead() throws IOException {
        RealPython python = RealPython.with("torch");
        python.run("""
                import torch
                value = {'t': torch.arange(6.).view(2, 3), 'n': [1, 'a'], 'v': torch.arange(6.)[2:4]}
                for p in (1, 2, 3, 4, 5):
                    torch.save(value, f'{sys.argv[1]}/zip{p}.pt', pickle_protocol=p)
                    torch.save(value, f'{sys.argv[1]}/legacy{p}.pt', pickle_protocol=p,
                               _use_new_zipfile_serialization=False)
                torch.save([1, 'ü'], f'{sys.argv[1]}/legacy0.pt', pickle_protocol=0,
                           _use_new_zipfile_serialization=False)
                """, folder);
        return Stream.concat(
                IntStream.rangeClosed(1, 5).boxed().flatMap(p -> Stream.of("zip" + p, "legacy" + p))
                        .map(name -> python.test(name, _ -> {
                            try (Checkpoint c = Checkpoint.open(folder.resolve(name + ".pt"))) {
                                assertThat(c.format()).isEqualTo("torch-" + name.substring(0, name.length() - 1));
                                assertThat(c.tensor("t").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
                                assertThat(c.tensor("v").toFloatArray()).containsExactly(2, 3);
                                assertThat(c.unread()).isEmpty();
                            }
                        })),
                Stream.of(python.test("legacy0", _ -> {
                    try (Checkpoint c = Checkpoint.open(folder.resolve("legacy0.pt"))) {
                        assertThat(c.state()).isEqualTo(List.of(1L, "ü"));
                    }
                })));
    }
}
