package io.undercroft.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Proc;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// Small files of which a report or a copy would be very large.
class CostlyFilesTest {
    @TempDir
    Path folder;

    /// A list of many references to one long text.
    private Path manyTexts(int count) throws IOException {
        ByteArrayOutputStream pickle = new ByteArrayOutputStream();
        pickle.writeBytes(new byte[]{(byte) 0x80, 2, ']', '(', 'X'});
        pickle.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(300_000).array());
        pickle.writeBytes("x".repeat(300_000).getBytes(US_ASCII));
        pickle.writeBytes("q\u0001".getBytes(US_ASCII));
        pickle.writeBytes("h\u0001".repeat(count - 1).getBytes(US_ASCII));
        pickle.writeBytes("e.".getBytes(US_ASCII));
        Path file = folder.resolve("texts.pt");
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(file))) {
            put(zip, "archive/data.pkl", pickle.toByteArray());
            put(zip, "archive/version", "3\n".getBytes(US_ASCII));
        }
        return file;
    }

    private static void put(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(bytes.length);
        entry.setCrc(crc.getValue());
        zip.putNextEntry(entry);
        zip.write(bytes);
    }

    @Test
    void aReportThatWouldRepeatOneTextWithoutEndIsRefusedBeforeItIsPrinted() throws IOException {
        Path file = manyTexts(300_000);
        long before = Proc.allocatedByThisThread();
        Invocation json = Invocation.of("inspect", "--json", file);
        assertThat(json.code()).isNotZero();
        assertThat(json.out()).isEmpty();
        assertThat(json.err()).contains("texts.pt").contains("the report in JSON would have more than");
        Invocation text = Invocation.of("inspect", file);
        assertThat(text.code()).isZero();
        assertThat(text.out()).hasSizeLessThan(2000);
        assertThat(Proc.allocatedByThisThread() - before).isLessThan(2 * ((64L << 20) + 2 * Files.size(file)));
    }

    @Test
    void aCopyThatWouldRepeatOneTextWithoutEndIsRefusedByPath() throws IOException {
        Path target = folder.resolve("texts.croft");
        Invocation convert = Invocation.of("convert", manyTexts(300_000), target);
        assertThat(convert.code()).isNotZero();
        assertThat(convert.err()).contains("state/").contains("300000 characters").doesNotContain("fault in croft");
        assertThat(target).doesNotExist();
    }

    @Test
    void aFewRepetitionsAreNoProblem() throws IOException {
        Path file = manyTexts(10);
        assertThat(Invocation.of("inspect", "--json", file).json().get("state")).hasSize(10);
        Path target = folder.resolve("texts.croft");
        assertThat(Invocation.of("convert", file, target).code()).isZero();
        try (Checkpoint checkpoint = Checkpoint.open(target)) {
            assertThat((List<?>) checkpoint.state()).hasSize(10);
        }
    }

    /// One long name must not make every line as long.
    @Test
    void aReportIsNotMuchLongerThanTheNamesInIt() throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        Tensor tensor = Tensor.of(1f);
        state.put("k".repeat(4000), tensor);
        for (int i = 0; i < 2000; i++) {
            state.put("t" + i, tensor);
        }
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state);
        Invocation text = Invocation.of("inspect", file);
        assertThat(text.code()).isZero();
        assertThat(text.out().getBytes(UTF_8)).hasSizeLessThan(2000 * 500);
    }
}
