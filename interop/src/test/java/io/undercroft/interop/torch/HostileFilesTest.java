package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.tree.PythonObjects;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Device;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Files that are damaged, hostile or of a kind that is not supported: one clear line, and nothing else happens.
class HostileFilesTest {
    @TempDir
    private Path directory;

    private static final OpenOptions STRICT = OpenOptions.defaults().setting("torch.strict", "on");

    private static FormatException refusal(Path path) throws IOException {
        CheckpointFormat format = Fixtures.format(path);
        try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
            assertThat(format.matches(file)).isTrue();
            FormatException refusal = catchThrowableOfType(FormatException.class, () -> openAll(format, file));
            assertThat(refusal).as(path.toString()).isNotNull();
            assertThat(refusal.getMessage()).doesNotContain("\n");
            assertThat(refusal.remedy().toString()).isNotBlank();
            return refusal;
        }
    }

    /// A tensor that breaks a rule of its own is refused when it is asked for.
    private static void openAll(CheckpointFormat format, MappedFile file) throws IOException {
        Contents contents = format.open(file, STRICT);
        contents.names().forEach(contents::tensor);
    }

    @ParameterizedTest
    @CsvSource({
            "BAD_deep_nesting, TORCH-PICKLE",
            "BAD_key_traversal, TORCH-STORAGE",
            "BAD_location, TORCH-DEVICE",
            "BAD_location_cuda, TORCH-DEVICE",
            "BAD_negative_size, TORCH-TENSOR",
            "BAD_negative_stride, TORCH-TENSOR",
            "BAD_no_stop, TORCH-PICKLE",
            "BAD_numel_negative, TORCH-STORAGE",
            "BAD_offset_beyond, TORCH-TENSOR",
            "BAD_overflow_size, TORCH-TENSOR",
            "BAD_same_key_two_dtypes, TORCH-STORAGE",
            "BAD_same_key_two_numel, TORCH-STORAGE",
            "BAD_stack_underflow, TORCH-PICKLE",
            "BAD_stride_rank, TORCH-TENSOR",
            "BAD_tuple_bomb_2pow60, TORCH-PICKLE",
            "UNSAFE_os_system, TORCH-GLOBAL",
            "UNSAFE_os_system.legacy, TORCH-GLOBAL",
            "UNSAFE_print, TORCH-GLOBAL",
            "UNSAFE_print.legacy, TORCH-GLOBAL",
            "UNSUPPORTED_torchscript, TORCH-GLOBAL"
    })
    void aHostileFixtureIsRefusedByAStrictReader(String fixture, String code) throws IOException {
        Path path = Fixtures.PYTORCH.resolve(fixture + ".pt");
        FormatException refusal = refusal(path);
        assertThat(refusal.code()).isEqualTo(code);
        if (fixture.startsWith("UNSAFE")) {
            String name = fixture.contains("print") ? "__builtin__.print" : "posix.system";
            assertThat(refusal.what()).contains("'" + name + "'");
            String opcode = new String(Files.readAllBytes(path), ISO_8859_1).substring((int) refusal.offset());
            assertThat(opcode).startsWith("c" + name.replace('.', '\n'));
        }
    }

    /// What torch.load would run is recorded.
    @ParameterizedTest
    @CsvSource({"UNSAFE_os_system, posix.system", "UNSAFE_os_system.legacy, posix.system",
            "UNSAFE_print, builtins.print", "UNSAFE_print.legacy, builtins.print"})
    void aFixtureThatWouldRunCodeOpensAndRunsNothing(String fixture, String function) throws IOException {
        Fixtures.open(Fixtures.PYTORCH.resolve(fixture + ".pt"), contents -> {
            assertThat(contents.foreignClasses()).containsExactly(new ForeignClass(function, 1, true));
            TypedMap call = objectIn(contents.state());
            assertThat((Tuple) call.attributes().get("arguments")).isNotEmpty();
        });
    }

    private static TypedMap objectIn(Object state) {
        return state instanceof TypedMap object && PythonObjects.is(object)
                ? object
                : StateIndex.children(state).stream().filter(each -> each instanceof Map || each instanceof List)
                        .map(HostileFilesTest::objectIn).findFirst().orElseThrow();
    }

    @Test
    void everyHostileFixtureIsTried() {
        long tried = Arrays.stream(HostileFilesTest.class.getDeclaredMethods())
                .filter(method -> method.getName().endsWith("AStrictReader")
                        && method.isAnnotationPresent(CsvSource.class))
                .mapToLong(method -> method.getAnnotation(CsvSource.class).value().length).sum();
        assertThat(Fixtures.names("(BAD|UNSAFE|UNSUPPORTED)_.*")).hasSize(Math.toIntExact(tried));
    }

    @Test
    void storagesOfAnotherDeviceComeWhereTheOptionsSay() throws IOException {
        OpenOptions toCpu = OpenOptions.defaults().devices(_ -> Device.CPU);
        Fixtures.open(Fixtures.PYTORCH.resolve("BAD_location_cuda.pt"), toCpu,
                contents -> assertThat(contents.storages().getFirst().device()).isEqualTo(Device.CPU));
        OpenOptions toMeta = OpenOptions.defaults().devices(_ -> Device.META);
        Fixtures.open(Fixtures.PYTORCH.resolve("single_f32.pt"), toMeta,
                contents -> assertThat(contents.storages().getFirst().device()).isEqualTo(Device.META));
    }

    @ParameterizedTest
    @ValueSource(strings = {"single_f32.pt", "zip_deflated.pt", "counter.pt"})
    void aFileThatEndsAnywhereIsRefused(String fixture) throws IOException {
        byte[] whole = Files.readAllBytes(Fixtures.PYTORCH.resolve(fixture));
        Path path = directory.resolve("cut.pt");
        for (int length = 0; length < whole.length; length++) {
            Files.write(path, Arrays.copyOf(whole, length));
            try (MappedFile file = MappedFile.open(path, MapMode.PRIVATE)) {
                TorchZipFormat format = new TorchZipFormat();
                // Cut within its first name it is no longer to be told from any other archive.
                assertThat(format.matches(file)).isEqualTo(length >= 30 + whole[26]);
                assertThat(catchThrowableOfType(FormatException.class, () -> format.open(file, OpenOptions.defaults())))
                        .as("length " + length).isNotNull();
            }
        }
    }

    /// Streams and tar archives have no checksums, so other values may be read from a damaged one. But nothing else
    /// happens.
    @ParameterizedTest
    @ValueSource(strings = {"view_metadata.legacy.pt", "python2_shortbinstring.legacy.pt", "tied.legacy.pt",
            "sparse_csr.legacy.pt", "tar_format.tar.pt"})
    void aDamagedStreamIsRefusedOrRead(String fixture) throws IOException {
        byte[] whole = Files.readAllBytes(Fixtures.PYTORCH.resolve(fixture));
        Path path = directory.resolve(fixture);
        int refused = 0;
        // Most of a tar archive is padding.
        int step = fixture.contains("tar") ? 16 : 1;
        for (int at = 0; at < whole.length; at += whole[at] == 0 ? step : 1) {
            byte[] bad = whole.clone();
            List<Integer> changes = List.of(1 << (at % 8), 0xff, 0x80);
            for (int change : Tries.ARE_ALL ? changes : List.of(changes.get(at % changes.size()))) {
                bad[at] = (byte) (whole[at] ^ change);
                refused += isRefused(path, bad) ? 1 : 0;
            }
        }
        assertThat(refused).isGreaterThan(whole.length / (Tries.ARE_ALL ? 16 : 48));
        for (int length = 0; length < whole.length; length += step) {
            boolean isRefused = isRefused(path, Arrays.copyOf(whole, length));
            // The end of a tar archive is zeros.
            assertThat(isRefused || fixture.contains("tar")).as("length " + length).isTrue();
        }
    }

    private static boolean isRefused(Path path, byte[] bytes) throws IOException {
        Files.write(path, bytes);
        try {
            Fixtures.open(path, contents -> {
                assertThat(contents.verify().unverifiedBytes()).isEqualTo(bytes.length);
                contents.storages().forEach(Storage::segment);
                assertThat(summary(contents)).hasSameSizeAs(contents.names());
            });
            return false;
        } catch (FormatException e) {
            assertThat(e.getMessage()).doesNotContain("\n");
            assertThat(e.remedy().toString()).isNotBlank();
            return true;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"single_f32.pt", "zip_deflated.pt", "tied.pt"})
    void aFlippedBitIsRefusedFoundOrHarmless(String fixture) throws IOException {
        Path original = Fixtures.PYTORCH.resolve(fixture);
        byte[] whole = Files.readAllBytes(original);
        List<String> expected = new ArrayList<>();
        Fixtures.open(original, contents -> expected.addAll(summary(contents)));
        Path path = directory.resolve("flipped.pt");
        int harmless = 0;
        for (int at = 0; at < whole.length; at++) {
            byte[] bad = whole.clone();
            bad[at] ^= (byte) (1 << (at % 8));
            Files.write(path, bad);
            harmless += isHarmless(path, expected, at) ? 1 : 0;
        }
        assertThat(harmless).isLessThan(whole.length * 4 / 5);
    }

    /// Opens a damaged file; what is read from it without complaint has to be what was read before.
    private static boolean isHarmless(Path path, List<String> expected, int at) throws IOException {
        List<String> found = new ArrayList<>();
        try {
            Fixtures.open(path, contents -> {
                if (contents.verify().damages().isEmpty()) {
                    found.addAll(summary(contents));
                }
            });
        } catch (FormatException e) {
            assertThat(e.getMessage()).doesNotContain("\n");
            return false;
        }
        if (!found.isEmpty()) {
            assertThat(found).as("bit flipped in byte " + at).isEqualTo(expected);
        }
        return !found.isEmpty();
    }

    private static List<String> summary(Contents contents) {
        return contents.names().stream().map(name -> {
            Tensor tensor = contents.tensor(name).orElseThrow();
            return name + tensor.dtype() + tensor.shape() + Arrays.toString(tensor.stride())
                    + Fixtures.sha256(tensor.storage());
        }).toList();
    }
}
