package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TorchTarFormatTest {
    private static final Path FIXTURE = Fixtures.PYTORCH.resolve("tar_format.tar.pt");

    @TempDir
    private Path folder;

    /// Writes an archive, member by member.
    private static final class Tar {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();

        Tar add(String name, char type, String size, byte[] content) {
            byte[] header = new byte[512];
            put(header, 0, name);
            put(header, 100, "0000644\0");
            put(header, 124, size);
            header[156] = (byte) type;
            put(header, 257, "ustar\00000");
            put(header, 148, "        ");
            int sum = 0;
            for (byte value : header) {
                sum += Byte.toUnsignedInt(value);
            }
            put(header, 148, String.format("%06o", sum) + "\0 ");
            out.writeBytes(header);
            out.writeBytes(content);
            out.writeBytes(new byte[-content.length & 511]);
            return this;
        }

        Tar add(String name, byte[] content) {
            return add(name, '0', String.format("%011o", content.length), content);
        }

        private static void put(byte[] header, int at, String text) {
            byte[] bytes = text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
            System.arraycopy(bytes, 0, header, at, bytes.length);
        }

        byte[] end() {
            out.writeBytes(new byte[1024]);
            return out.toByteArray();
        }
    }

    private static Map<String, byte[]> members() throws IOException {
        Map<String, byte[]> members = new LinkedHashMap<>();
        byte[] all = Files.readAllBytes(FIXTURE);
        try (MappedFile file = MappedFile.open(FIXTURE, MapMode.READ_ONLY)) {
            TarDirectory tar = TarDirectory.read(file);
            for (String name : List.of("sys_info", "pickle", "tensors", "storages")) {
                TarDirectory.Member member = tar.find(name).orElseThrow();
                members.put(name, java.util.Arrays.copyOfRange(all, (int) member.start(), (int) member.end()));
            }
        }
        return members;
    }

    private void assertSame(byte[] archive) throws IOException {
        Path path = Files.write(folder.resolve("made.tar.pt"), archive);
        assertThat(Fixtures.matches(path)).isTrue();
        Fixtures.open(FIXTURE,
                expected -> Fixtures.open(path, contents -> Sameness.check(expected.state(), contents.state())));
    }

    private FormatException refusal(byte[] archive) throws IOException {
        Path path = Files.write(folder.resolve("bad.tar.pt"), archive);
        FormatException refusal = catchThrowableOfType(FormatException.class, () -> Fixtures.open(path, _ -> {}));
        assertThat(refusal).isNotNull();
        assertThat(refusal.getMessage()).doesNotContain("\n");
        return refusal;
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "./"})
    void theOrderOfTheMembersDoesNotMatter(String prefix) throws IOException {
        Tar tar = new Tar();
        members().entrySet().stream().sorted(Map.Entry.comparingByKey())
                .forEach(member -> tar.add(prefix + member.getKey(), member.getValue()));
        assertSame(tar.end());
    }

    @Test
    void extendedHeadersAreRead() throws IOException {
        Tar tar = new Tar();
        members().forEach((name, content) -> {
            String size = "size=" + content.length + "\n";
            byte[] extended = ("30 mtime=1485000000.123456789\n" + (size.length() + 3) + " " + size)
                    .getBytes(US_ASCII);
            tar.add("././@PaxHeader", 'x', String.format("%011o", extended.length), extended);
            // The header itself has no space for the size of a large file.
            tar.add(name, '0', "00000000000", content);
        });
        assertSame(tar.end());
    }

    @Test
    void sizesMayBeBinary() throws IOException {
        Tar tar = new Tar();
        members().forEach((name, content) -> tar.add(name, '0',
                "\u0080" + "\0".repeat(9) + (char) (content.length >> 8) + (char) (content.length & 0xff), content));
        assertSame(tar.end());
    }

    @Test
    void whatIsNoPlainArchiveOfFourMembersIsRefused() throws IOException {
        Map<String, byte[]> members = members();
        byte[] pickle = members.get("pickle");
        assertThat(refusal(new Tar().add("pickle", pickle).end()).what()).contains("no member storages");
        assertThat(refusal(new Tar().add("pickle", pickle).add("./pickle", pickle).end()).what())
                .contains("two members named 'pickle'");
        assertThat(refusal(new Tar().add("pickle", '2', "00000000000", new byte[0]).end()).what())
                .contains("no plain file");
        assertThat(refusal(new Tar().add("pickle", '0', "00000777777", pickle).end()).what())
                .contains("beyond the end");
        assertThat(refusal(new Tar().add("pickle", '0', "\u0080" + "\u00ff".repeat(11), pickle).end()).what())
                .contains("2^63");
        assertThat(refusal(new Tar().add("pickle", '0', "not a number", pickle).end()).what()).contains("a number");
        byte[] renamed = "17 path=/etc/abc\n".getBytes(US_ASCII);
        assertThat(refusal(new Tar().add("././@PaxHeader", 'x', "00000000021", renamed).add("pickle", pickle).end())
                .what()).contains("another name");
        byte[] damaged = new Tar().add("pickle", pickle).end();
        damaged[3] ^= 1;
        assertThat(refusal(damaged).what()).contains("checksum");
    }

    @Test
    void someTensorsAreLoadedAndTheOthersAreOnMeta() throws IOException {
        try (Checkpoint c = Checkpoint.open(FIXTURE, OpenOptions.defaults().only("on_view").inMemory())) {
            assertThat(c.format()).isEqualTo("torch-tar");
            assertThat(c.names()).containsExactly("on_view");
            assertThat(c.tensor("on_view").storage().isMeta()).isFalse();
        }
        try (Checkpoint c = Checkpoint.open(FIXTURE, OpenOptions.defaults().only(_ -> false))) {
            assertThat(((Tensor) ((Map<?, ?>) c.state()).get("base")).storage().isMeta()).isTrue();
        }
    }
}
