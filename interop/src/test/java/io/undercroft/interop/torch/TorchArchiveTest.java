package io.undercroft.interop.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.interop.SparseFile;
import io.undercroft.interop.internal.ZipDirectory;
import io.undercroft.interop.internal.ZipRecord;
import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Archives compared with those of PyTorch's own writer.
class TorchArchiveTest {
    @TempDir
    private Path directory;

    private Path write(TorchArchive archive) throws IOException {
        Path path = directory.resolve("written.pt");
        assertThat(SparseFile.write(path, archive)).isEqualTo(archive.nbytes());
        return path;
    }

    static List<String> fixtures() {
        return Fixtures.names("(?!BAD|UNSAFE|UNSUPPORTED|zip_|old_|.*legacy|.*tar).*[.]pt");
    }

    /// The same pickle and the same storages give the same file, up to the forty digits of its id and their checksum.
    @ParameterizedTest
    @MethodSource("fixtures")
    void anArchiveIsPyTorchsByteForByte(String fixture) throws IOException {
        Path original = Fixtures.PYTORCH.resolve(fixture);
        String folder = fixture.replace(".pt", "");
        try (MappedFile file = MappedFile.open(original, MapMode.READ_ONLY); Arena arena = Arena.ofConfined()) {
            ZipDirectory zip = ZipDirectory.read(file);
            List<Storage> storages = new ArrayList<>();
            for (ZipRecord record : zip.records()) {
                if (record.name().startsWith(folder + "/data/")) {
                    assertThat(record.name()).isEqualTo(folder + "/data/" + storages.size());
                    storages.add(Storage.copyOf(zip.read(record, arena)));
                }
            }
            ZipRecord pickle = zip.find(folder + "/data.pkl").orElseThrow();
            Path written = write(new TorchArchive(folder,
                    new Pickle(zip.read(pickle, arena), storages)));
            assertThat(withoutId(written, folder)).isEqualTo(withoutId(original, folder));
        }
    }

    private static byte[] withoutId(Path path, String folder) throws IOException {
        byte[] bytes = Files.readAllBytes(path);
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            ZipDirectory zip = ZipDirectory.read(file);
            ZipRecord id = zip.find(folder + "/.data/serialization_id").orElseThrow();
            int data = Math.toIntExact(zip.dataOffset(id));
            assertThat(new String(bytes, data, 40, java.nio.charset.StandardCharsets.US_ASCII)).matches("\\d{40}");
            Arrays.fill(bytes, data, data + 40 + 8, (byte) 0);
            // The id has the last entry: its checksum is 16 bytes behind the start.
            int entry = bytes.length - 98 - 46 - id.name().length();
            Arrays.fill(bytes, entry + 16, entry + 20, (byte) 0);
        }
        return bytes;
    }

    /// Where PyTorch 2.13 put the records of such a state, and the extra fields that it wrote.
    private static final List<String> LARGE = List.of(
            "data.pkl 0 64 464212005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a",
            ".format_version 521 576 464202005a5a",
            ".storage_alignment 593 704 " + "46423700" + "5a".repeat(55),
            "byteorder 722 832 " + "46423f00" + "5a".repeat(63),
            "data/0 854 960 " + "46423e00" + "5a".repeat(62),
            "data/1 1008 1088 010010007b00000001000000000000000000000046421000" + "5a".repeat(16),
            "data/2 4294968531 4294968640 01000800d30400000100000046423500" + "5a".repeat(53),
            "data/3 4294968704 4294968768 010008008005000001000000464208005a5a5a5a5a5a5a5a",
            "data/4 4294968768 4294968832 01000800c005000001000000464208005a5a5a5a5a5a5a5a",
            "version 4294968880 4294968960 01000800300600000100000046421700" + "5a".repeat(23),
            ".data/serialization_id 4294968986 4294969088 010008009a0600000100000046421e00" + "5a".repeat(30));

    @Test
    void recordsBeyondFourGibibytesStandWherePyTorchPutsThem() throws IOException {
        long large = (1L << 32) + 123;
        try (Arena arena = Arena.ofConfined()) {
            // Memory in huge pages that nobody has written to: all of them are one page of zeros.
            Storage storage = Storage.allocate(large, AnonymousMemory.allocator());
            Path path = write(new TorchArchive("z64",
                    new Pickle(MemorySegment.ofArray(new byte[441]), List.of(Storage.allocate(32), storage,
                            Storage.copyOf(new byte[40]), Storage.allocate(0), Storage.copyOf(new byte[24])))));
            try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
                ZipDirectory zip = ZipDirectory.read(file);
                List<String> places = new ArrayList<>();
                for (ZipRecord record : zip.records()) {
                    places.add(place(zip, file, record, arena));
                }
                assertThat(places).containsExactlyElementsOf(LARGE);
                ZipRecord zerosRecord = zip.find("z64/data/1").orElseThrow();
                assertThat(zerosRecord.size()).isEqualTo(large);
                assertThat(zerosRecord.crc()).as("that of as many zeros, by PyTorch").isEqualTo(0x15d70e0c);
            }
        }
    }

    private static String place(ZipDirectory zip, MappedFile file, ZipRecord record, Arena arena) throws IOException {
        long data = zip.dataOffset(record);
        long extra = record.header() + 30 + record.name().length();
        MemorySegment bytes = arena.allocate(data - extra);
        file.read(extra, bytes);
        return record.name().substring("z64/".length()) + " " + record.header() + " " + data + " "
                + java.util.HexFormat.of().formatHex(bytes.toArray(ValueLayout.JAVA_BYTE));
    }

    @Test
    void theSizeIsKnownBeforeAnyByteIsRead() {
        Storage untouched = Storage.deferred(1L << 40, () -> {
            throw new AssertionError("read");
        });
        Pickle pickle = new Pickle(MemorySegment.ofArray(new byte[10]), List.of(untouched, Storage.allocate(1)));
        assertThat(new TorchArchive("a", pickle).nbytes()).isBetween(1L << 40, (1L << 40) + 2000);
    }
}
