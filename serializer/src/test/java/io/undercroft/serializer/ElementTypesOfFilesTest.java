package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.DTypeRecord;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.Unreadable;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// Element types of `.croft` files that no writer of this project chooses: what SPEC.md allows is read, and what it
/// refuses concerns the tensors of that type only.
class ElementTypesOfFilesTest {
    /// A width that no other record has, to find the record by.
    private static final int ODD_WIDTH = 8 * 37;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({"'', 8", "wide, 1048584", "widest, 2147483640", "'', 12"})
    void everyNameAndWidthThatTheFormatAllowsIsReadAndWrittenAgain(String name, int bits) throws IOException {
        CroftImage image = CroftImage.first();
        image.write(new byte[]{1, 2, 3});
        image.tensor("plain", 3).zeros(Math.ceilDiv(bits, Byte.SIZE)).tensor("odd", new DTypeRecord(name, bits));
        Path file = Files.write(folder.resolve("odd.croft"), image.commit());
        Path copy = folder.resolve("copy.croft");

        try (Checkpoint read = Checkpoint.open(file)) {
            Tensor odd = read.tensor("odd");
            assertThat(odd.dtype()).isEqualTo(DType.opaque(name, bits));
            assertThat(odd.itemsize()).isEqualTo(Math.ceilDiv(bits, Byte.SIZE));
            assertThat(read.verify().damages()).isEmpty();
            Checkpoint.save(copy, read.state());
        }
        try (Checkpoint read = Checkpoint.open(copy)) {
            assertThat(read.tensor("odd").dtype()).isEqualTo(DType.opaque(name, bits));
            assertThat(read.tensor("plain").getLong(2)).isEqualTo(3);
        }
    }

    private Path withRecord(String from, String to) throws IOException {
        CroftImage image = CroftImage.first();
        image.write(new byte[]{1, 2, 3});
        image.tensor("plain", 3).zeros(37).tensor("odd", new DTypeRecord("n".repeat(4096), ODD_WIDTH));
        return Files.write(folder.resolve("damaged.croft"), image.forge(from, to).commit());
    }

    private static String record(int length, int bits, int elements) {
        StringBuilder record = new StringBuilder();
        for (int field : new int[]{length, bits, elements}) {
            for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
                record.append((char) (field >> shift & 0xFF));
            }
        }
        return record.toString();
    }

    @ParameterizedTest
    @CsvSource({"4097, 296, 1, V8-LIMIT", "-1, 296, 1, V8-LIMIT", "4096, 0, 1, V15-STRUCTURE",
            "4096, -2147483648, 1, V15-STRUCTURE", "4096, 296, 32, V13-UNSUPPORTED"})
    void aTypeThatTheFormatRefusesConcernsItsTensorOnly(int length, int bits, int elements, String code)
            throws IOException {
        check(withRecord(record(4096, ODD_WIDTH, 1), record(length, bits, elements)), code);
    }

    @Test
    void aNameThatIsNoTextConcernsItsTensorOnly() throws IOException {
        check(withRecord("nnnnnnnn", "nnn\u00FFnnnn"), "V6-NAME");
    }

    private static void check(Path file, String code) throws IOException {
        try (Checkpoint read = Checkpoint.open(file)) {
            assertThat(read.names()).containsExactly("plain", "odd");
            assertThat(read.tensor("plain").getLong(2)).isEqualTo(3);
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> read.tensor("odd"))
                    .extracting(FormatException::code).isEqualTo(code);
            assertThat(Unreadable.in(StateIndex.of(read.tree()).tensors()).get("odd").code()).isEqualTo(code);
        }
    }
}
