package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.testsupport.Proc;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Small files that ask for much: each is refused before it gets it, or costs no more than its size justifies.
class CostlyFilesTest {
    private static final long LEAST = 64L << 20;

    @TempDir
    private Path directory;

    /// A run of one opcode in a pickle that is compressed.
    @ParameterizedTest
    @CsvSource({"], 10485760", "N, 31457280", "}, 10485760", "(, 20971520", "), 10485760"})
    void aLongCompressedPickleIsRefusedEarly(char opcode, int count) throws IOException {
        Path file = deflated(opcode, count);
        assertThat(Files.size(file)).isLessThan(64 << 10);
        long before = Proc.allocatedByThisThread();
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file).close());
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(LEAST + 2 * Files.size(file));
        assertThat(refusal.code()).isEqualTo("COST-MEMORY");
        assertThat(refusal.remedy().toString()).contains("uncompressed");
    }

    @ParameterizedTest
    @CsvSource({"]", "}", "N", "(", ")"})
    void aLongStoredPickleCostsWhatItsSizeJustifies(char opcode) throws IOException {
        byte[] pickle = new PickleBuilder().ops("(").ops(String.valueOf(opcode).repeat(990_000)).ops("t").stop();
        Path file = stored(pickle);
        long before = Proc.allocatedByThisThread();
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file).close());
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(LEAST + 2 * Files.size(file));
        assertThat(refusal == null || refusal.code().startsWith("COST")
                || refusal.code().equals("TORCH-PICKLE")).isTrue();
    }

    @Test
    void aTensorAtVeryManyPlacesOfALongPathIsRefused() throws IOException {
        PickleBuilder pickle = new PickleBuilder().ops("}").text("k".repeat(4080)).ops("](").tensor("0", 1).bytes('q',
                1);
        for (int i = 0; i < 480_000; i++) {
            pickle.bytes('h', 1);
        }
        Path file = stored(pickle.ops("es").stop(), 4);
        assertThat(Files.size(file)).isLessThan(1 << 20);
        long before = Proc.allocatedByThisThread();
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file).close());
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(LEAST + 2 * Files.size(file));
        assertThat(refusal.code()).isEqualTo("COST-MEMORY");
    }

    @Test
    void anEmptyListAtVeryManyPlacesOfALongPathOpensInLittleMemory() throws IOException {
        PickleBuilder pickle = new PickleBuilder().ops("}").text("k".repeat(4080)).ops("](");
        pickle.ops("]".repeat(100_000));
        Path file = stored(pickle.ops("es").stop());
        long before = Proc.allocatedByThisThread();
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            assertThat((Map<?, ?>) checkpoint.state()).hasSize(1);
        }
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(LEAST + 2 * Files.size(file));
    }

    @Test
    void aTextAtManyPlacesIsOneStringInMemory() throws IOException {
        PickleBuilder pickle = new PickleBuilder().ops("](").text("x".repeat(300_000)).bytes('q', 1);
        for (int i = 0; i < 299_999; i++) {
            pickle.bytes('h', 1);
        }
        Path file = stored(pickle.ops("e").stop());
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            List<?> list = (List<?>) checkpoint.state();
            assertThat(list).hasSize(300_000).allMatch(each -> each == list.getFirst());
            IllegalArgumentException refusal = catchThrowableOfType(IllegalArgumentException.class,
                    () -> Checkpoint.save(directory.resolve("again.croft"), list));
            assertThat(refusal).hasMessageContaining("the value at '").hasMessageContaining("300000 characters");
            assertThat(directory.resolve("again.croft")).doesNotExist();
        }
    }

    /// Opcodes that make an object of a class in the memo, with arguments in the memo, or without any.
    @ParameterizedTest
    @CsvSource({"h1)!, 240000", "h1h2R, 190000", "h1h2!, 190000", "h1)!}b, 150000", "h1)!Na, 150000",
            "h1)!NNs, 140000", "h1)!}h1Nsb, 100000"})
    void manyTinyObjectsCostWhatTheirSizeJustifies(String ops, int count) throws IOException {
        byte[] each = ops.replace("h1", "h\1").replace("h2", "h\2").replace('!', '\u0081').getBytes(ISO_8859_1);
        PickleBuilder pickle = new PickleBuilder().global("app", "C").bytes('q', 1).ops("N").bytes(0x85, 'q', 2)
                .ops("00(");
        for (int i = 0; i < count; i++) {
            for (byte op : each) {
                pickle.bytes(op);
            }
        }
        Path file = stored(pickle.ops("t").stop());
        assertThat(Files.size(file)).isLessThan(1 << 20);
        long before = Proc.allocatedByThisThread();
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Checkpoint.open(file).close());
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(LEAST + 2 * Files.size(file));
        assertThat(refusal == null || refusal.code().startsWith("COST")).isTrue();
    }

    private Path deflated(char opcode, int count) throws IOException {
        Path file = directory.resolve("deflated.pt");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            zip.putNextEntry(new ZipEntry("archive/data.pkl"));
            zip.write(new byte[]{(byte) 0x80, 2, '('});
            repeat(zip, opcode, count);
            zip.write("t.".getBytes(US_ASCII));
            zip.putNextEntry(new ZipEntry("archive/version"));
            zip.write("3\n".getBytes(US_ASCII));
        }
        return file;
    }

    private static void repeat(OutputStream out, char opcode, int count) throws IOException {
        byte[] many = new byte[1 << 20];
        Arrays.fill(many, (byte) opcode);
        for (int left = count; left > 0; left -= many.length) {
            out.write(many, 0, Math.min(left, many.length));
        }
    }

    /// @param storages the sizes of storages in bytes
    private Path stored(byte[] pickle, int... storages) throws IOException {
        Path file = directory.resolve("stored.pt");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            TorchZips.store(zip, "archive/data.pkl", pickle);
            for (int i = 0; i < storages.length; i++) {
                TorchZips.store(zip, "archive/data/" + i, new byte[storages[i]]);
            }
            TorchZips.store(zip, "archive/version", "3\n".getBytes(US_ASCII));
        }
        return file;
    }
}
