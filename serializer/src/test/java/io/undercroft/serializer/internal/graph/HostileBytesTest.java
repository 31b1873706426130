package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.esotericsoftware.kryo.io.Output;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import io.undercroft.testsupport.Proc;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/// Bytes that nobody saved.
class HostileBytesTest {
    /// More than an error costs, and far less than a length that lies asks for.
    private static final long LITTLE = 1 << 20;
    private static final List<String> CODES = List.of("CROFT-OBJECT", "CROFT-CLASS");
    private static final int FLIPS = 20_000;

    enum Mode {
        TRAIN, EVAL
    }

    static final class Holder {
        int step = 3;
        String name = "holder";
        Mode mode = Mode.TRAIN;
        BigDecimal loss = new BigDecimal("0.125");
        Instant at = Instant.EPOCH;
        Path path = Path.of("a");
        @Nullable
        Object any = LocalDate.EPOCH;
    }

    private static final StateClasses CLASSES = StateClasses.of(Holder.class, Mode.class);

    private final ObjectBytes bytes = new ObjectBytes(CLASSES);

    private byte[] whole() {
        Map<String, @Nullable Object> plain = new ObjectType(Holder.class).valuesOf(new Holder());
        plain.values().removeIf(value -> !bytes.isPlain(value));
        return bytes.of(plain);
    }

    private static void refused(Runnable reading) {
        // Once for the classes that are loaded, whose memory is not that of the reading.
        assertThatExceptionOfType(FormatException.class).isThrownBy(reading::run);
        long before = Proc.allocatedByThisThread();
        Throwable thrown = null;
        try {
            reading.run();
        } catch (FormatException e) {
            thrown = e;
        }
        long allocated = Proc.allocatedByThisThread() - before;
        assertThat(thrown).isNotNull().message().doesNotContain("\n").containsAnyOf("[CROFT-OBJECT]", "[CROFT-CLASS]");
        assertThat(allocated).isLessThan(LITTLE);
    }

    private void fill(byte... made) {
        ObjectType type = new ObjectType(Holder.class);
        type.set(type.newInstance(), bytes.fields(Holder.class, made, Map.of()), CLASSES);
    }

    /// Lengths of 10 million, of a gigabyte or two, and of less than nothing, in front of nothing.
    @ParameterizedTest
    @ValueSource(strings = {"80ade204", "ffffffff07", "ffffffff0f", "8080808004", "ff", ""})
    void aLengthThatLiesAllocatesNothing(String hex) {
        refused(() -> fill(HexFormat.of().parseHex(hex)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"c1808008", "bfffffff1f", "ffffffffff", "c0808080", "82", ""})
    void aTextWhoseLengthLiesAllocatesNothing(String hex) {
        refused(() -> fill(field("03" + hex)));
        refused(() -> fill(HexFormat.of().parseHex("01" + hex)));
    }

    /// The one field "any", of a class of the given id.
    private static byte[] field(String tag) {
        return HexFormat.of().parseHex("01" + "616ef9" + tag);
    }

    @Test
    void aClassThatIsNotRegisteredIsNamedAndNotLoaded() {
        try (Output out = new Output(64, -1)) {
            out.writeVarInt(1, true);
            out.writeString("any");
            out.writeByte(1);
            out.writeString(HostileBytesTest.class.getName() + "$HeldBack");
            byte[] made = out.toBytes();
            refused(() -> fill(made));
            assertThatExceptionOfType(FormatException.class).isThrownBy(() -> fill(made))
                    .withMessageContaining("HostileBytesTest$HeldBack', which is not registered");
        }
        assertThat(HeldBackWitness.loaded).isFalse();
    }

    static final class HeldBackWitness {
        static boolean loaded;
    }

    static final class HeldBack {
        static {
            HeldBackWitness.loaded = true;
        }
    }

    /// Ids that nobody has, a child that is not there, a class that is no value, a class without a name.
    @ParameterizedTest
    @ValueSource(strings = {"0c", "12", "7f", "ffffffff07", "0b", "01", "0180", "0182"})
    void anUnknownClassIsRefused(String tag) {
        refused(() -> fill(field(tag)));
    }

    @Test
    void aFieldThatComesTwiceIsRefused() {
        byte[] once = field("00");
        fill(once);
        byte[] twice = HexFormat.of().parseHex("02" + "616ef900" + "616ef900");
        refused(() -> fill(twice));
        refused(() -> bytes.fields(Holder.class, once, Map.of("any", List.of())));
    }

    @Test
    void bytesThatGoOnOrEndEarlyAreRefused() {
        byte[] whole = whole();
        fill(whole);
        refused(() -> fill(Arrays.copyOf(whole, whole.length + 1)));
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            refused(() -> fill(cut));
        }
    }

    @Test
    void everyFlippedBitGivesAnObjectOrATypedError() {
        byte[] whole = whole();
        for (int bit = 0; bit < whole.length * Byte.SIZE; bit++) {
            byte[] flipped = whole.clone();
            flipped[bit / Byte.SIZE] ^= (byte) (1 << (bit % Byte.SIZE));
            objectOrRefusal(flipped);
        }
        SplittableRandom random = new SplittableRandom(6);
        for (int i = 0; i < FLIPS; i++) {
            byte[] noise = whole.clone();
            for (int flips = random.nextInt(1, 6); flips > 0; flips--) {
                noise[random.nextInt(noise.length)] = (byte) random.nextInt();
            }
            objectOrRefusal(noise);
        }
    }

    private void objectOrRefusal(byte... made) {
        try {
            fill(made);
        } catch (FormatException e) {
            assertThat(e.code()).isIn(CODES);
        }
    }
}
