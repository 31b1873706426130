package io.undercroft.interop.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import java.util.Arrays;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ZipDirectoryTest {
    private static final int END = 0x06054b50;
    private static final int ENTRY = 0x02014b50;

    @TempDir
    private Path directory;

    /// What a test does with an archive.
    private interface Use {
        void accept(ZipDirectory zip) throws IOException;
    }

    private void read(byte[] archive, Use use) throws IOException {
        Path path = directory.resolve("archive.zip");
        Files.write(path, archive);
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            use.accept(ZipDirectory.read(file));
        }
    }

    /// The code of the error when everything in the archive is read.
    private String code(byte[] archive) {
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> read(archive, zip -> {
            for (ZipRecord record : zip.records()) {
                zip.stream(record).check();
            }
        }));
        return refusal == null ? "fine" : refusal.code();
    }

    private static String text(ZipDirectory zip, String name) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            return new String(zip.read(zip.find(name).orElseThrow(), arena).toArray(ValueLayout.JAVA_BYTE), UTF_8);
        }
    }

    /// An archive of two records: `a` is stored, `b` is deflated.
    private static byte[] archive(String comment) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(out)) {
            byte[] stored = "stored bytes".getBytes(UTF_8);
            CRC32 crc = new CRC32();
            crc.update(stored);
            ZipEntry entry = new ZipEntry("a");
            entry.setMethod(ZipEntry.STORED);
            entry.setSize(stored.length);
            entry.setCrc(crc.getValue());
            zip.putNextEntry(entry);
            zip.write(stored);
            zip.putNextEntry(new ZipEntry("b"));
            zip.write("deflated bytes ".repeat(100_000).getBytes(UTF_8));
            zip.setComment(comment);
        }
        return out.toByteArray();
    }

    private static ByteBuffer buffer(byte[] archive) {
        return ByteBuffer.wrap(archive).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static int find(byte[] archive, int signature, int from) {
        ByteBuffer buffer = buffer(archive);
        for (int at = from; at <= archive.length - 4; at++) {
            if (buffer.getInt(at) == signature) {
                return at;
            }
        }
        throw new AssertionError("no such record");
    }

    /// The archive with a number in the entry of a record changed.
    private static byte[] withEntry(int record, int field, int width, int value) throws IOException {
        byte[] archive = archive("");
        int entry = find(archive, ENTRY, 0);
        if (record == 1) {
            entry = find(archive, ENTRY, entry + 1);
        }
        if (width == 2) {
            buffer(archive).putShort(entry + field, (short) value);
        } else {
            buffer(archive).putInt(entry + field, value);
        }
        return archive;
    }

    private static byte[] withEnd(int field, int width, int value) throws IOException {
        byte[] archive = archive("");
        int end = find(archive, END, 0);
        if (width == 2) {
            buffer(archive).putShort(end + field, (short) value);
        } else {
            buffer(archive).putInt(end + field, value);
        }
        return archive;
    }

    @Test
    void storedAndDeflatedRecordsAreRead() throws IOException {
        read(archive("a comment PK\5\6 that looks like an end"), zip -> {
            assertThat(zip.records().stream().map(ZipRecord::name)).isEqualTo(List.of("a", "b"));
            assertThat(text(zip, "a")).isEqualTo("stored bytes");
            assertThat(text(zip, "b")).isEqualTo("deflated bytes ".repeat(100_000));
            assertThat(zip.find("c")).isEmpty();
        });
        assertThat(code(archive(""))).isEqualTo("fine");
    }

    private static byte[] with(byte[] archive, int commentLength, byte[] rest) {
        byte[] bytes = Arrays.copyOf(archive, archive.length + rest.length);
        System.arraycopy(rest, 0, bytes, archive.length, rest.length);
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putShort(archive.length - 2, (short) commentLength);
        return bytes;
    }

    /// The last end record counts, as for Python and PyTorch, whatever length of a comment it has.
    @Test
    void bytesBehindTheEndRecordAreNotRead() throws IOException {
        byte[] archive = archive(null);
        for (int rest : new int[]{1, 21, 22, 23, 1000, 0xFFFF, 0x10000}) {
            for (int comment : new int[]{0, rest / 2, rest, rest + 1, 0xFFFF}) {
                read(with(archive, comment, new byte[rest]), zip -> {
                    assertThat(text(zip, "a")).isEqualTo("stored bytes");
                    int end = archive.length + Math.min(comment & 0xFFFF, rest);
                    assertThat(zip.besides(_ -> true)).isEqualTo(end == archive.length + rest
                            ? List.of()
                            : List.of(new UnreadPart(Kind.BYTES, "what is behind the archive", end,
                                    archive.length + rest - end)));
                });
            }
        }
        assertThat(code(with(archive, 0, new byte[0x10001]))).isEqualTo("ZIP-END");
        byte[] other = with(archive("c"), 7, new byte[0]);
        // The comment of the first one ends with the file, and the one of the second is cut.
        byte[] two = with(archive, other.length, other);
        assertThat(code(two)).isEqualTo("fine");
        read(two, zip -> assertThat(zip.before()).isEqualTo(archive.length));
    }

    @Test
    void theFirstNameIsFoundWithoutADirectory() throws IOException {
        Path path = directory.resolve("cut.zip");
        Files.write(path, java.util.Arrays.copyOf(archive(""), 40));
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            assertThat(ZipDirectory.firstName(file)).contains("a");
        }
        Files.write(path, new byte[100]);
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            assertThat(ZipDirectory.firstName(file)).isEmpty();
        }
    }

    @Test
    void recordsThatOverlapAreRefused() throws IOException {
        assertThat(code(withEntry(1, 42, 4, 0))).isEqualTo("ZIP-OVERLAP");
        assertThat(code(withEntry(1, 42, 4, 20))).isEqualTo("ZIP-OVERLAP");
        assertThat(code(withEntry(0, 42, 4, Integer.MAX_VALUE))).isEqualTo("ZIP-OVERLAP");
    }

    @Test
    void sizesThatCannotBeAreRefused() throws IOException {
        assertThat(code(withEntry(0, 24, 4, 13))).isEqualTo("ZIP-SIZE");
        assertThat(code(withEntry(1, 24, 4, Integer.MAX_VALUE))).isEqualTo("ZIP-SIZE");
        assertThat(code(withEntry(1, 20, 4, Integer.MAX_VALUE))).isEqualTo("ZIP-OVERLAP");
        assertThat(code(withEntry(1, 24, 4, 1_499_999))).isEqualTo("ZIP-DEFLATE");
        assertThat(code(withEntry(1, 24, 4, 1_500_001))).isEqualTo("ZIP-DEFLATE");
        assertThat(code(withEntry(1, 24, 4, -1))).isEqualTo("ZIP-DIRECTORY");
    }

    @Test
    void aWrongChecksumIsFound() throws IOException {
        assertThat(code(withEntry(0, 16, 4, 1))).isEqualTo("ZIP-CRC");
        assertThat(code(withEntry(1, 16, 4, 1))).isEqualTo("ZIP-CRC");
        assertThat(code(withEntry(0, 16, 4, 0))).as("not computed").isEqualTo("fine");
    }

    @Test
    void whatIsNotSupportedIsSaid() throws IOException {
        assertThat(code(withEntry(0, 10, 2, 12))).isEqualTo("ZIP-METHOD");
        assertThat(code(withEntry(0, 8, 2, 1))).isEqualTo("ZIP-ENCRYPTED");
        assertThat(code(withEnd(4, 2, 3))).isEqualTo("ZIP-DISKS");
    }

    @Test
    void aDirectoryThatContradictsTheFileIsRefused() throws IOException {
        assertThat(code(withEnd(10, 2, 1))).isEqualTo("ZIP-DIRECTORY");
        assertThat(code(withEnd(12, 4, 10))).isEqualTo("ZIP-DIRECTORY");
        assertThat(code(withEnd(12, 4, Integer.MAX_VALUE))).isEqualTo("ZIP-END");
        assertThat(code(withEnd(16, 4, Integer.MAX_VALUE))).isEqualTo("ZIP-END");
        assertThat(code(withEnd(16, 4, 1))).as("its records would lie in the directory").isEqualTo("ZIP-OVERLAP");
        assertThat(code(withEntry(0, 28, 2, 0xFFFF))).isEqualTo("ZIP-DIRECTORY");
    }

    @Test
    void aHeaderOfAnotherNameIsRefused() throws IOException {
        byte[] archive = archive("");
        archive[30] = 'x';
        assertThat(code(archive)).isEqualTo("ZIP-HEADER");
    }

    @Test
    void twoRecordsOfOneNameAreRefused() throws IOException {
        byte[] archive = archive("");
        archive[find(archive, ENTRY, find(archive, ENTRY, 0) + 1) + 46] = 'a';
        assertThat(code(archive)).isEqualTo("ZIP-DUPLICATE");
    }

    @Test
    void anEmptyFileIsNoArchive() {
        assertThat(code(new byte[0])).isEqualTo("ZIP-END");
        assertThat(code(new byte[100])).isEqualTo("ZIP-END");
    }
}
