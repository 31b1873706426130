package io.undercroft.serializer;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.Allocation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExportTest {
    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void nameTheFile() {
        file = folder.resolve("some.raw");
    }

    private static Tensor few() {
        return Tensor.of((byte) 1, (byte) 2, (byte) 3).view(DType.UINT8);
    }

    @Test
    void aFormatThatSomebodyAddsIsOpenedAndWrittenByTheEndOfTheName() throws IOException {
        Checkpoint.save(file, few());

        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.format()).isEqualTo("raw");
            assertThat(c.tensor("bytes").contentEquals(few())).isTrue();
        }
        assertThat(Checkpoint.formats()).extracting(CheckpointFormat::name).contains("croft", "raw");
    }

    @Test
    void aFormatIsNamedWhereTheEndOfTheNameSaysNothing() throws IOException {
        Path other = folder.resolve("some.bin");

        assertThat(Checkpoint.save(other, few()).format()).isEqualTo("croft");
        Checkpoint.save(other, few(), SaveOptions.defaults().format("raw"));

        assertThat(other).hasSize(11);
        assertThatThrownBy(() -> Checkpoint.open(other, OpenOptions.defaults().format("row")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("row")
                .hasMessageContaining("croft");
        assertThatThrownBy(() -> Checkpoint.save(other, few(), SaveOptions.defaults().format("crofft")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageEndingWith("; did you mean 'croft'?");
    }

    @Test
    void aSuffixWithATypingErrorMakesNoCroftFile() throws IOException {
        for (String wrong : List.of("a.safetensor", "a.SafeTensors2", "a.ckptt", "a.pikle", "a.ptt", "a.pt7")) {
            assertThatThrownBy(() -> Checkpoint.save(folder.resolve(wrong), few()))
                    .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("; did you mean '.");
        }
        for (String wrong : List.of("a.pt.tmp", "a.safetensors.part")) {
            assertThatThrownBy(() -> Checkpoint.save(folder.resolve(wrong), few()))
                    .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("SaveOptions.format(\"croft\")");
        }
        assertThat(folder).isEmptyDirectory();

        Checkpoint.save(folder.resolve("a.safetensor"), few(), SaveOptions.defaults().format("croft"));

        for (String other : List.of("a", "pickle", "a.weights", "a.v1", "run.step7", ".hidden")) {
            assertThat(Checkpoint.save(folder.resolve(other), few()).format()).isEqualTo("croft");
        }
    }

    /// The format has no checksums, and does not say so when it is verified.
    @Test
    void aFileWithoutChecksumsIsNotCalledIntact() throws IOException {
        Checkpoint.save(file, few());

        try (Checkpoint c = Checkpoint.open(file)) {
            Verification verification = c.verify();
            assertThat(verification.damages()).isEmpty();
            assertThat(verification.isIntact()).isFalse();
            assertThat(verification.isComplete()).isFalse();
            assertThat(verification.unverifiedBytes()).isEqualTo(Files.size(file));
        }
    }

    /// What refers to it needs to know nothing of its format.
    @Test
    void aBaseIsReadAsItsOptionsSay() throws IOException {
        byte[] bytes = "no magic, and some more bytes".getBytes(US_ASCII);
        Path base = Files.write(folder.resolve("base"), bytes);
        Path target = folder.resolve("target.croft");
        OpenOptions raw = OpenOptions.defaults().format("raw");
        try (Checkpoint source = Checkpoint.open(base, raw)) {
            assertThatThrownBy(() -> Checkpoint.save(target, source.tree(), SaveOptions.defaults().base(base)))
                    .isInstanceOf(FormatException.class).hasMessageContaining("FORMAT-UNKNOWN");
            DedupReport reversed = Checkpoint.save(target, source.tree(),
                    SaveOptions.defaults().base(base, raw.setting("raw.reversed", "yes"))).dedup().orElseThrow();
            assertThat(reversed.written()).isEqualTo(bytes.length - 8);

            DedupReport report = Checkpoint.save(target, source.tree(), SaveOptions.defaults().base(base, raw)).dedup()
                    .orElseThrow();

            assertThat(report.written()).isZero();
        }
        try (Checkpoint c = Checkpoint.open(target, OpenOptions.defaults().root(folder))) {
            assertThat(c.tensor("bytes").toByteArray()).asString(US_ASCII).isEqualTo(", and some more bytes");
        }
    }

    @Test
    void theReportOfACroftFileHasItsBytes() throws IOException {
        Path croft = folder.resolve("a.croft");

        SaveReport report = Checkpoint.save(croft, few());

        assertThat(report).returns("croft", SaveReport::format).returns(List.of(croft), SaveReport::files)
                .returns(Files.size(croft), SaveReport::nbytes).returns(1, SaveReport::tensors)
                .returns(1, SaveReport::storages).returns(List.of(), SaveReport::losses);
        assertThat(report.dedup().orElseThrow().written()).isPositive();
        assertThat(Checkpoint.save(folder.resolve("a.raw"), few()).dedup()).isEmpty();
    }

    @Test
    void aStateThatTheFormatCannotHoldLeavesTheFormerFile() throws IOException {
        Checkpoint.save(file, few());

        assertThatThrownBy(() -> Checkpoint.save(file, List.of(few())))
                .isInstanceOf(IllegalArgumentException.class).hasMessage("state is no tensor of uint8");

        assertThat(file).hasSize(11);
        assertNothingElseIsIn(folder);
    }

    @Test
    void bytesThatCannotBeReadLeaveTheFormerFile() throws IOException {
        Checkpoint.save(file, few());
        Arena arena = Arena.ofShared();
        MemorySegment memory = arena.allocate(100);
        Tensor gone = Tensor.of(Storage.allocate(100, _ -> Allocation.collected(memory)), DType.UINT8, 0,
                Shape.of(100), 1);
        arena.close();

        assertThatThrownBy(() -> Checkpoint.save(file, gone)).isInstanceOf(IllegalStateException.class);

        assertThat(file).hasSize(11);
        assertNothingElseIsIn(folder);
    }

    @Test
    void largeFilesGoThroughOneBlockAndProgressIsToldOfAllBytes() throws IOException {
        Tensor large = Tensor.arange(DType.INT32, 5_000_000).view(DType.UINT8);
        List<Long> told = new ArrayList<>();

        Checkpoint.save(file, large, SaveOptions.defaults().progress((done, total) -> {
            told.add(done);
            assertThat(total).isEqualTo(8 + 20_000_000L);
        }));

        assertThat(told).isSorted().startsWith(0L).endsWith(20_000_008L).doesNotHaveDuplicates();
        try (Checkpoint c = Checkpoint.open(file)) {
            assertThat(c.tensor("bytes").contentEquals(large)).isTrue();
        }
    }

    @Test
    void aListenerThatThrowsEndsTheExportAndLeavesNothing() throws IOException {
        assertThatThrownBy(() -> Checkpoint.save(file, few(), SaveOptions.defaults().progress((done, _) -> {
            if (done > 0) {
                throw new IllegalStateException("enough");
            }
        }))).hasMessage("enough");

        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void storagesOfAnotherFormatFollowTheOptions() throws IOException {
        Checkpoint.save(file, few());
        for (OpenOptions options : options().toList()) {
            try (Checkpoint c = Checkpoint.open(file, options)) {
                Tensor tensor = c.tensor("bytes");
                assertThat(LongStream.range(0, 3).map(tensor::getLong)).containsExactly(
                        options.setting("raw.reversed").isPresent()
                                ? new Long[]{3L, 2L, 1L}
                                : new Long[]{1L, 2L, 3L});
            }
        }
        assertThat(Files.readAllBytes(file)).endsWith(1, 2, 3);
    }

    private static Stream<OpenOptions> options() {
        OpenOptions defaults = OpenOptions.defaults();
        return Stream.of(defaults, defaults.inMemory(), defaults.mapping(MapMode.READ_ONLY))
                .flatMap(options -> Stream.of(options, options.setting("raw.reversed", "yes")));
    }

    @Test
    void onMetaNothingIsReadAndOtherDevicesAreRefused() throws IOException {
        Checkpoint.save(file, few());

        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().onMeta())) {
            assertThat(c.tensor("bytes").storage().isMeta()).isTrue();
        }
        assertThatThrownBy(() -> Checkpoint.open(file, OpenOptions.defaults().devices(_ -> Device.cuda(3))))
                .isInstanceOf(FormatException.class).hasMessageContaining("cuda:3");
    }

    @Test
    void whatFailsToBeDecodedNamesItsFile() throws IOException {
        Checkpoint.save(file, Tensor.of((byte) 13).view(DType.UINT8));

        try (Checkpoint c = Checkpoint.open(file, OpenOptions.defaults().setting("raw.reversed", "yes"))) {
            Tensor tensor = c.tensor("bytes");
            assertThatThrownBy(() -> tensor.getLong(0)).isInstanceOf(FormatException.class)
                    .hasMessageContaining("some.raw").hasMessageContaining("unlucky");
        }
    }

    private void assertNothingElseIsIn(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files).containsExactly(file);
        }
    }
}
