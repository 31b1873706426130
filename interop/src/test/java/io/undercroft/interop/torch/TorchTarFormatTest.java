package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import io.undercroft.testsupport.Sameness;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
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
                members.put(name, Arrays.copyOfRange(all, (int) member.start(), (int) member.end()));
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

    private static final long POINTER = 0x7f3a_1c0d_e000L;

    private static byte[] le(long... values) {
        ByteBuffer buffer = ByteBuffer.allocate(8 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        Arrays.stream(values).forEach(buffer::putLong);
        return buffer.array();
    }

    private static byte[] all(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    private static byte[] number(long value) {
        return new PickleBuilder().integer(value).stop();
    }

    private static PickleBuilder storage(long key, String location) {
        return new PickleBuilder().integer(key).text(location).global("torch", "FloatStorage");
    }

    /// What PyTorch 0.1.10 wrote of tensors on a storage of four numbers, on a view of it that begins at the second
    /// number, and on nothing. Behind the number of dimensions it wrote four bytes that mean nothing.
    private static Map<String, byte[]> ofVersion0110(String location, boolean littleEndian) {
        Map<String, byte[]> members = new LinkedHashMap<>();
        members.put("sys_info", new PickleBuilder().ops("}").text("protocol_version").integer(1000).ops("s")
                .text("little_endian").bytes(littleEndian ? 0x88 : 0x89).ops("s").stop());
        PickleBuilder state = new PickleBuilder().ops("}(");
        for (int i = 1; i <= 3; i++) {
            state.text("t" + i).text(Long.toString(POINTER + i)).ops("Q");
        }
        members.put("pickle", state.text("view").text(Long.toString(POINTER + 9)).ops("Q").ops("u").stop());
        PickleBuilder first = new PickleBuilder().integer(POINTER + 1).integer(POINTER + 8);
        PickleBuilder second = new PickleBuilder().integer(POINTER + 2).integer(POINTER + 9);
        PickleBuilder none = new PickleBuilder().integer(POINTER + 3).ops("N");
        members.put("tensors", all(number(3),
                first.global("torch", "FloatTensor").bytes(0x87).stop(), le(0x5a5a_5a5aL << 32 | 2, 2, 2, 2, 1, 0),
                second.global("torch.cuda", "FloatTensor").bytes(0x87).stop(), le(1, 2, 1, 1),
                none.global("torch", "DoubleTensor").bytes(0x87).stop(), le(0, 0)));
        byte[] elements = le(0x4000_0000_3f80_0000L, 0x4080_0000_4040_0000L);
        members.put("storages", all(number(1), storage(POINTER + 8, location).bytes(0x87).stop(), le(4), elements,
                new PickleBuilder().ops("](").ops("(").integer(POINTER + 9).integer(POINTER + 8).integer(1).integer(3)
                        .ops("te").stop()));
        return members;
    }

    private Path archive(Map<String, byte[]> members) throws IOException {
        Tar tar = new Tar();
        members.forEach(tar::add);
        return Files.write(folder.resolve("0.1.10.pt"), tar.end());
    }

    @ParameterizedTest
    @ValueSource(strings = {"cpu", "cuda:0", "cuda:1", "cuda:-1"})
    void anArchiveOfVersion0110IsRead(String location) throws IOException {
        OpenOptions onCpu = OpenOptions.defaults().devices(_ -> Device.CPU);
        try (Checkpoint c = Checkpoint.open(archive(ofVersion0110(location, true)), onCpu)) {
            assertThat(c.names()).containsExactly("t1", "t2", "t3");
            assertThat(c.tensor("t1").toFloatArray()).containsExactly(1, 2, 3, 4);
            assertThat(c.tensor("t1").shape()).isEqualTo(Shape.of(2, 2));
            assertThat(c.tensor("t2").toFloatArray()).containsExactly(3, 4);
            assertThat(c.tensor("t2").storage().base()).containsSame(c.tensor("t1").storage());
            assertThat(c.tensor("t3").shape()).isEqualTo(Shape.of(0));
            assertThat(c.tensor("t3").dtype()).isEqualTo(DType.FLOAT64);
            assertThat(((TypedStorage) ((Map<?, ?>) c.state()).get("view")).size()).isEqualTo(3);
            assertThat(c.unread()).isEmpty();
        }
    }

    @Test
    void anArchiveOfABigEndianMachineIsRefused() throws IOException {
        Path path = archive(ofVersion0110("cpu", false));
        assertThat(catchThrowableOfType(FormatException.class, () -> Checkpoint.open(path).close()).code())
                .isEqualTo("TORCH-BYTEORDER");
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
