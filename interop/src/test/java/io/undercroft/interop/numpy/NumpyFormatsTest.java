package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.undercroft.format.FormatException;
import io.undercroft.interop.SparseFile;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.Verification;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.serializer.state.TypedMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/// Arrays and archives of arrays, as NumPy wrote them, as we write them, and damaged.
class NumpyFormatsTest {
    private static final Path FIXTURES = Path.of("..", "test-support", "fixtures", "numpy");

    @TempDir
    private Path folder;
    private final SaveOptions options = SaveOptions.defaults();

    private static void checkArrays(Checkpoint c) throws IOException {
        for (String name : List.of("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                "float32", "float64", "complex64", "complex128")) {
            assertThat(c.tensor(name).dtype().name()).isEqualTo(name);
            assertThat(c.tensor(name).shape()).isEqualTo(Shape.of(2, 3));
            assertThat(c.tensor(name).real().toDoubleArray()).as(name).containsExactly(0, 1, 2, 3, 4, 5);
        }
        assertThat(c.tensor("complex128").imag().toDoubleArray()).containsExactly(0, -1, -2, -3, -4, -5);
        assertThat(c.tensor("bool").toLongArray()).containsExactly(0, 1, 0, 1, 0, 1);
        assertThat(c.tensor("big").toLongArray()).containsExactly(0, 1, 2, 3, 4, 5);
        assertThat(c.tensor("bigcomplex").imag().toFloatArray()).containsOnly(2);
        assertThat(c.tensor("bigcomplex").real().toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
        assertThat(c.tensor("fortran").stride()).containsExactly(1, 2, 6);
        assertThat(c.tensor("fortran").contiguous().toFloatArray()).isSorted();
        assertThat(c.tensor("scalar").shape()).isEqualTo(Shape.SCALAR);
        assertThat(c.tensor("scalar").getDouble()).isEqualTo(2.5);
        assertThat(c.tensor("empty").shape()).isEqualTo(Shape.of(0, 3));
        assertThat(c.tensor("folder~1x").toLongArray()).containsExactly(0, 1, 2);
        assertThat(c.names()).hasSize(20);
        assertThat(c.verify().damages()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"stored.npz", "deflated.npz"})
    void archivesOfNumPyAreRead(String fixture) throws IOException {
        for (OpenOptions how : List.of(OpenOptions.defaults(), OpenOptions.defaults().inMemory())) {
            try (Checkpoint c = Checkpoint.open(FIXTURES.resolve(fixture), how)) {
                assertThat(c.format()).isEqualTo("npz");
                checkArrays(c);
            }
        }
    }

    /// For Python's `zipfile` 0 is a checksum as any other.
    @Test
    void aChecksumOfZeroIsCompared() throws IOException {
        Path file = folder.resolve("a.npz");
        Checkpoint.save(file, Map.of("w", Tensor.ones(DType.FLOAT32, 4)));
        byte[] bytes = Files.readAllBytes(file);
        ByteBuffer archive = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 0; at + 46 < bytes.length; at++) {
            if (archive.getInt(at) == 0x02014b50) {
                archive.putInt(at + 16, 0);
            }
        }
        Files.write(file, bytes);
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("w").getFloat(0)).isEqualTo(1);
            Verification verification = c.verify();
            assertThat(verification.unverifiedBytes()).isZero();
            assertThat(verification.damages()).singleElement()
                    .satisfies(damage -> assertThat(damage.code()).isEqualTo("ZIP-CRC"));
            assertThatExceptionOfType(FormatException.class)
                    .isThrownBy(() -> Checkpoint.save(folder.resolve("b.croft"), c.tree()))
                    .withMessageContaining("has the checksum");
        }
    }

    @Test
    void oursHoldTheSame() throws IOException {
        Path stored = folder.resolve("a.npz");
        Path deflated = folder.resolve("b.npz");
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("stored.npz"))) {
            Checkpoint.save(stored, c.state());
            Checkpoint.save(deflated, c.state(), options.setting("npz.compression", "deflate"));
        }
        for (Path path : List.of(stored, deflated)) {
            try (Checkpoint c = Checkpoint.open(path)) {
                checkArrays(c);
            }
        }
        try (Checkpoint c = Checkpoint.open(stored)) {
            assertThat(c.storages()).filteredOn(storage -> storage.nbytes() > 0)
                    .allMatch(storage -> storage.filename().isPresent());
        }
    }

    @Test
    void storedArraysOfOursAreAlignedTo64Bytes() throws IOException {
        Path path = folder.resolve("a.npz");
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 9; i++) {
            state.put("x".repeat(i * 7 + 1), Tensor.full(DType.INT8, i, i));
        }
        Checkpoint.save(path, state);
        byte[] bytes = Files.readAllBytes(path);
        String text = new String(bytes, ISO_8859_1);
        int found = 0;
        for (int at = text.indexOf("\u0093NUMPY"); at >= 0; at = text.indexOf("\u0093NUMPY", at + 1)) {
            assertThat(at % 64).isZero();
            found++;
        }
        assertThat(found).isEqualTo(9);
    }

    @Test
    void largeArraysComeThroughCompressionWhole() throws IOException {
        Tensor numbers = Tensor.arange(DType.INT32, 300_000).view(300, 1000);
        Path path = folder.resolve("a.npz");
        Checkpoint.save(path, Map.of("n", numbers, "t", numbers.t()), options.setting("npz.compression", "deflate"));
        assertThat(Files.size(path)).isLessThan(numbers.nbytes());
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("n").contentEquals(numbers)).isTrue();
            assertThat(c.tensor("t").contentEquals(numbers.t())).isTrue();
            assertThat(c.tensor("t").stride()).containsExactly(1, 1000);
        }
    }

    @Test
    void arraysOfAllVersionsAreReadAndWrittenAsNumPyDoes() throws IOException {
        Path again = folder.resolve("again.npy");
        try (Checkpoint c = Checkpoint.open(FIXTURES.resolve("fortran.npy"))) {
            assertThat(c.format()).isEqualTo("npy");
            assertThat(c.tensor("").shape()).isEqualTo(Shape.of(2, 3, 4));
            assertThat(c.tensor("").storage().filename().orElseThrow()).endsWith("fortran.npy");
            Checkpoint.save(again, c.state());
        }
        assertThat(again).hasSameBinaryContentAs(FIXTURES.resolve("fortran.npy"));
        for (String version : List.of("version2.npy", "version3.npy")) {
            try (Checkpoint c = Checkpoint.open(FIXTURES.resolve(version))) {
                assertThat(c.tensor("").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5);
            }
        }
    }

    @Test
    void aTensorIsWrittenAsAnotherTypeOnRequest() throws IOException {
        Path npy = folder.resolve("a.npy");
        Tensor halves = Tensor.arange(DType.FLOAT32, 12).to(DType.BFLOAT16).view(3, 4);
        for (Tensor tensor : List.of(halves, halves.t(), halves.narrow(1, 1, 2), halves.select(0, 1).select(0, 1))) {
            Checkpoint.save(npy, tensor, options.setting("npy.dtype", "float32"));
            try (Checkpoint c = Checkpoint.open(npy)) {
                assertThat(c.tensor("").contentEquals(tensor.to(DType.FLOAT32))).isTrue();
            }
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npy, halves, options.setting("npy.dtype", "float31")))
                .withMessageContaining("npy.dtype is the name of a type");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npy, halves, options.setting("npy.dtype", "bfloat16")))
                .withMessageContaining("NumPy has no elements of type bfloat16");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npy, Tensor.zeros(DType.BITS8, 3),
                        options.setting("npy.dtype", "int8")))
                .withMessageContaining("bits8 cannot be converted to int8");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npy, Map.of("a", halves), options.setting("npy.dtype", "int8")));
    }

    @Test
    void aTensorUnderTwoNamesIsWrittenTwice() throws IOException {
        Path path = folder.resolve("a.npz");
        Tensor tied = Tensor.of(1f, 2f);
        Checkpoint.save(path, Map.of("a", tied, "b", tied));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.storages()).hasSize(2);
            assertThat(c.tensor("b").contentEquals(tied)).isTrue();
        }
        assertThat(new NpzFormat().capabilities()).isEqualTo(Set.of(Capability.SAVE, Capability.CHECKSUMS));
    }

    /// Zeros and a seven behind them.
    private record Zeros(long count) implements Draft {
        private static final MemorySegment SOME = Storage.allocate(1 << 24).segment();

        @Override
        public long nbytes() {
            return 128 + count + 1;
        }

        @Override
        public void writeTo(Output output) throws IOException {
            output.write(MemorySegment.ofArray(NpyHeader.bytes(
                    NumpyType.of(DType.UINT8).orElseThrow(), Shape.of(count + 1), false)));
            for (long left = count; left > 0; left -= SOME.byteSize()) {
                output.write(SOME.asSlice(0, Math.min(left, SOME.byteSize())));
            }
            output.write(MemorySegment.ofArray(new byte[]{7}));
        }
    }

    @Test
    void anArchiveMayHaveMoreThan4GiB() throws IOException {
        Path path = folder.resolve("a.npz");
        SequencedMap<String, Draft> parts = new LinkedHashMap<>();
        parts.put("a.npy", new Zeros(1L << 32));
        parts.put("b.npy", ArrayDraft.of("b", Tensor.of(1, 2, 3)));
        SparseFile.write(path, new ArchiveDraft(parts, false));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("a").shape()).isEqualTo(Shape.of((1L << 32) + 1));
            assertThat(c.tensor("a").getLong(0)).isZero();
            assertThat(c.tensor("a").getLong(-1)).isEqualTo(7);
            assertThat(c.tensor("b").toIntArray()).containsExactly(1, 2, 3);
            assertThat(c.storages()).allMatch(storage -> storage.filename().isPresent());
        }
    }

    @Test
    void whatTakesPartInDifferentiationKeepsItsOrder() throws IOException {
        Path path = folder.resolve("a.npz");
        Tensor turned = Tensor.arange(DType.FLOAT32, 6).view(2, 3).t();
        Checkpoint.save(path, Map.of("a", turned.withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD))));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("a").stride()).containsExactly(1, 3);
            assertThat(c.tensor("a").contentEquals(turned)).isTrue();
        }
    }

    @Test
    void nothingAtAllIsAnArchive() throws IOException {
        Path path = folder.resolve("a.npz");
        Checkpoint.save(path, Map.of());
        assertThat(path).hasSize(22);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.format()).isEqualTo("npz");
            assertThat(c.names()).isEmpty();
        }
    }

    @Test
    void whatNumPyDoesNotHaveIsRefused() {
        Path npz = folder.resolve("a.npz");
        Path npy = folder.resolve("a.npy");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npz, Map.of("b", Tensor.zeros(DType.BFLOAT16, 1))))
                .withMessageContainingAll("b:", "bfloat16");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(npz, Map.of("n", 1L)))
                .withMessageContaining("n is");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(npz, Map.of("a\u0000b", Tensor.of(1))))
                .withMessageContaining("zero");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(npy, Map.of()));
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(npy, Tensor.meta(DType.INT8, 1)));
        assertThatIllegalArgumentException().isThrownBy(
                () -> Checkpoint.save(npz, Map.of("a", Tensor.of(1)), options.setting("npz.compression", "zstd")));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npz, Map.of("x".repeat(70_000), Tensor.of(1))));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Checkpoint.save(npz, Map.of("\ud800", Tensor.of(1), "\ud801", Tensor.of(2))))
                .withMessageContaining("surrogate");
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(npy, Tensor.of(1).expand(1L << 62)))
                .withMessageContaining("2^63-1");
        assertThat(folder).isEmptyDirectory();
    }

    // ---- damaged and hostile ----

    private static byte[] array(int version, String header, int data) {
        ByteBuffer bytes = ByteBuffer.allocate(12 + header.length() + data).order(ByteOrder.LITTLE_ENDIAN)
                .put(NpyHeader.MAGIC).put((byte) version).put((byte) 0);
        if (version == 1) {
            bytes.putShort((short) header.length());
        } else {
            bytes.putInt(header.length());
        }
        bytes.put(header.getBytes(ISO_8859_1));
        return Arrays.copyOf(bytes.array(), bytes.position() + data);
    }

    private FormatException refusal(byte[] bytes) throws IOException {
        Path path = Files.write(folder.resolve("x.npy"), bytes);
        return assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(path, OpenOptions.defaults().format("npy")).close())
                .satisfies(e -> assertThat(e.getMessage()).contains("x.npy").doesNotContain("\n")).actual();
    }

    /// What `numpy.dtype(name).str` and `descr` of NumPy 2.4 print.
    @ParameterizedTest
    @CsvSource(delimiter = '=', quoteCharacter = '`', value = {
            "'|b1' = ? bool bool_ >? |? b1",
            "'|u1' = B ubyte uint8 u1 >u1",
            "'<c16' = D cdouble complex complex128 c16 <D",
            "'<c8' = F complex64 csingle",
            "'<c32' = G clongdouble complex256 c32 |G",
            "'<u2' = H uint16 ushort <H u2",
            "'<u4' = I uint32 uintc",
            "'<u8' = L N P Q uint uint64 uintp ulong ulonglong <N",
            "'<M8' = M datetime64 M8 <datetime64 <M8[generic]",
            "'|S0' = S a bytes bytes_ >S",
            "'<U0' = U str str_ unicode",
            "'|i1' = b byte int8 i1",
            "'|S1' = c <c a1",
            "'<f8' = d double float float64 |d f8",
            "'<f2' = e float16 half",
            "'<f4' = f float32 single f4 |f4 float32",
            "'<f16' = float128 g longdouble f16 |f16 <g",
            "'>f16' = >g",
            "'<i2' = h int16 short",
            "'<i4' = i int32 intc",
            "'<i8' = int int64 int_ intp l long longlong n p q |i8 i8",
            "'<m8' = m timedelta64",
            "'<M8[s]' = datetime64[s] M8[s] <datetime64[s]",
            "'<m8[25ns]' = timedelta64[25ns] m8[25ns]",
            "'<M8[500ms]' = M8[s/2] <M8[s/2] datetime64[s/2] M8[500ms/1]", "'<M8[h]' = M8[D/24] M8[h/1]",
            "'<M8[73D]' = M8[Y/5]", "'<m8[60m]' = m8[3h/3]",
            "'<f4' = ()f4 1f4 <()f4 ()<f4 (1,)f4 (1,1)f4", "'|S5' = ()S5 1S5 ()|S5", "'>i4' = >1i4 ()>i4",
            "'|V3' = V3 |V3",
            "[('f0', '<f4'), ('f1', '<i4')] = f4,i4 <f4,i4 float32,int32, f,i,"
    })
    void aTypeHasTheNamesThatNumpyHasForIt(String descr, String names) throws IOException {
        for (String name : names.split(" ", -1)) {
            Path same = Files.write(folder.resolve("same.npy"), array(1, header("'" + name + "'"), 64));
            Path copy = folder.resolve("copy.npy");
            try (Checkpoint c = Checkpoint.open(same)) {
                Checkpoint.save(copy, c.state());
            }
            assertThat(new String(Files.readAllBytes(copy), ISO_8859_1)).as(name).contains("{'descr': "
                    + (descr.startsWith("'>") && !descr.contains("16") ? descr.replace('>', '<') : descr) + ", ");
        }
    }

    @ParameterizedTest
    @CsvSource({"f 4, <f4", "<i  8, <i8", "S 5, |S5", "U 2, <U2", "M8[\u03BCs], <M8[us]", "m8[25\u03BCs], <m8[25us]"})
    void aTypeMayHaveSpacesBeforeItsSizeAndAGreekLetterInItsUnit(String name, String descr) throws IOException {
        String header = new String(header("'" + name + "'").getBytes(UTF_8), ISO_8859_1);
        Path copy = folder.resolve("copy.npy");
        try (Checkpoint c = Checkpoint.open(Files.write(folder.resolve("same.npy"), array(3, header, 64)))) {
            Checkpoint.save(copy, c.state());
        }
        assertThat(new String(Files.readAllBytes(copy), ISO_8859_1)).contains("{'descr': '" + descr + "', ");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '=', quoteCharacter = '`', value = {
            "int32, float64 = [('f0', '<i4'), ('f1', '<f8')]",
            "f4,(2,)i4 = [('f0', '<f4'), ('f1', '<i4', (2,))]",
            "2i4,3f8 = [('f0', '<i4', (2,)), ('f1', '<f8', (3,))]",
            "d, = [('f0', '<f8')]",
            "(2,2)M8[s],f4 = [('f0', '<M8[s]', (2, 2)), ('f1', '<f4')]",
            "|b1,1i4 = [('f0', '|b1'), ('f1', '<i4', (1,))]",
            "f4,(2,3) <i4 , U3 = [('f0', '<f4'), ('f1', '<i4', (2, 3)), ('f2', '<U3')]"
    })
    void severalTypesAreFieldsAsInNumpy(String name, String descr) throws IOException {
        Path path = Files.write(folder.resolve("a.npy"), array(1, header("'" + name + "'"), 256));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(((TypedMap) c.state()).attributes()).containsEntry("dtype", descr);
        }
    }

    private static String header(String descr) {
        return "{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }";
    }

    /// NumPy writes version 2.0 if the header has more than 65,535 bytes.
    @Test
    void recordsOfThousandsOfFieldsAreReadAndWrittenAgain() throws IOException {
        int count = 4000;
        String descr = IntStream.range(0, count).mapToObj(i -> "('field%s', '<f4')".formatted(i))
                .collect(Collectors.joining(", ", "[", "]"));
        byte[] file = array(2, header(descr), 2 * 4 * count);
        ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putFloat(file.length - 4, 5);
        Path copy = folder.resolve("copy.npy");
        try (Checkpoint c = Checkpoint.open(Files.write(folder.resolve("a.npy"), file))) {
            assertThat(c.names()).hasSize(count);
            assertThat(c.tensor("field3999").toFloatArray()).containsExactly(0, 5);
            Checkpoint.save(copy, c.state());
        }
        assertThat(Files.readAllBytes(copy)[6]).isEqualTo((byte) 2);
        try (Checkpoint c = Checkpoint.open(copy)) {
            assertThat(c.tensor("field3999").toFloatArray()).containsExactly(0, 5);
        }
    }

    @Test
    void aHeaderOutOfProportionToTheFileCostsNothing() throws IOException {
        String names = "i,".repeat(2_000_000);
        Path zip = folder.resolve("a.npz");
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(zip))) {
            out.putNextEntry(new ZipEntry("a.npy"));
            out.write(array(2, header("'" + names + "'"), 0));
        }
        assertThatExceptionOfType(FormatException.class).isThrownBy(() -> Checkpoint.open(zip).close())
                .satisfies(e -> assertThat(e.code()).isEqualTo("COST-MEMORY"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '#', quoteCharacter = '`', value = {
            "TORCH-PICKLE # {'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
            "NPY-SIZE # {'descr': '|V1000000', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<M8[y]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'M8[s/3]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'M8[s/0]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'M8[generic/2]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'M8[s/]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'M 8[s]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '(1)f4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '2f4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '()', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '(f4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': [('x', '1f4')], 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<M4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<m8[]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<f8[ns]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<f10', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<c12', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<float32', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'd8', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'M[s]', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'f4,,i4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': ',', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'f4,(2', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'f4,(2 3)i4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': 'f4,99999999999999999999i4', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '<U9999999999999999999', 'fortran_order': False, 'shape': (1,), }",
            "NPY-DTYPE # {'descr': '', 'fortran_order': False, 'shape': (1,), }",
            "TORCH-PICKLE # {'descr': [('a', '<f4'), ('b', '|O')], 'fortran_order': False, 'shape': (1,), }",
            "NPY-SIZE # {'descr': '<U999999999999999999', 'fortran_order': False, 'shape': (1,), }",
            "NPY-SIZE # {'descr': [('a', '<f4'), ('b', '<f8')], 'fortran_order': False, 'shape': (1,), }",
            "NPY-SIZE # {'descr': [('a', '|S8'), ('', '|V99')], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<f4'), ('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<f4', (-1,))], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<f4', 2)], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<U999999999999999999', (9,))], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<i8'), 8], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<i8', 0, 'b')], 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': [('a', '<i8')}, 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': ('<i8', (1,)), 'fortran_order': False, 'shape': (1,), }",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False}",
            "NPY-HEADER # {'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (1)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': 1}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (01,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775808,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 2)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': True, 'shape': (4611686018427387904, 4, 0)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (1,)} + 1",
            "NPY-HEADER # {'descr': '\\074f8', 'fortran_order': False, 'shape': (1,)}",
            "NPY-HEADER # {'descr': open('x'), 'fortran_order': False, 'shape': (1,)}",
            "NPY-HEADER # {'descr': '<f8', 'fortran_order': False, 'shape': (1,)",
            "NPY-HEADER # dict(descr='<f8')",
            "NPY-SIZE # {'descr': '<f8', 'fortran_order': False, 'shape': (2,)}"
    })
    void aHeaderIsRefused(String code, String header) throws IOException {
        int data = header.contains(", 0)") ? 0 : 8;
        for (int version = 1; version <= 3; version++) {
            assertThat(refusal(array(version, header, data)).code()).isEqualTo(code);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }",
            "{\"shape\":(1L,),\"fortran_order\":True,\"descr\":\"i8\"}\n",
            "{'descr': '\\x3ci8', 'fortran_order': False, 'shape': (1,), }"
    })
    void aHeaderIsTaken(String header) throws IOException {
        Path path = Files.write(folder.resolve("x.npy"), array(1, header, 8));
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.tensor("").toLongArray()).containsExactly(0);
        }
    }

    @Test
    void versionsAndLengthsAreChecked() throws IOException {
        String header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}";
        assertThat(refusal(array(4, header, 8)).code()).isEqualTo("NPY-VERSION");
        assertThat(refusal(Arrays.copyOf(array(2, header + " ".repeat(1 << 16), 8), 1 << 16)).code())
                .isEqualTo("NPY-HEADER");
        assertThat(refusal(array(2, "[".repeat(60_000), 8)).code()).isEqualTo("NPY-HEADER");
        assertThat(refusal(array(2, "{'descr': " + "[('a', ".repeat(9_000), 8)).what()).contains("16 deep");
        assertThat(refusal("\u0093NUMPX\1\0\0\0\0\0\0\0".getBytes(ISO_8859_1)).code()).isEqualTo("NPY-HEADER");
        assertThat(refusal(new byte[11]).code()).isEqualTo("NPY-HEADER");
    }

    @Test
    void aRecordThatIsNoArrayIsNamed() throws IOException {
        Path path = folder.resolve("x.npz");
        try (var zip = new ZipOutputStream(Files.newOutputStream(path))) {
            zip.putNextEntry(new ZipEntry("a.npy"));
            zip.write(new byte[20]);
        }
        try (Checkpoint opened = Checkpoint.open(path)) {
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> opened.tensor("a"))
                    .withMessageContaining("a.npy");
        }
        try (var zip = new ZipOutputStream(Files.newOutputStream(path))) {
            zip.putNextEntry(new ZipEntry("a.txt"));
        }
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> Checkpoint.open(path, OpenOptions.defaults().format("npz")))
                .withMessageContaining("a.txt");
        try (var zip = new ZipOutputStream(Files.newOutputStream(path))) {
            zip.putNextEntry(new ZipEntry("a.txt"));
            zip.putNextEntry(new ZipEntry("a.npy"));
        }
        try (Checkpoint opened = Checkpoint.open(path, OpenOptions.defaults().format("npz"))) {
            assertThat(opened.names()).containsExactly("a");
            assertThat(opened.unread()).singleElement()
                    .satisfies(part -> assertThat(part.what()).contains("a.txt"));
        }
    }
}
