package io.undercroft.serializer.internal.graph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.sun.management.ThreadMXBean;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
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

    /// Reads one thing by Kryo.
    static final class Reader {}

    static final class ReaderSerializer extends Serializer<Reader> {
        private final Consumer<Input> body;

        ReaderSerializer(Consumer<Input> body) {
            this.body = body;
        }

        @Override
        public void write(Kryo kryo, Output out, Reader reader) {}

        @Override
        public Reader read(Kryo kryo, Input in, Class<? extends Reader> type) {
            body.accept(in);
            return new Reader();
        }
    }

    /// Nests as deep as its bytes say, by a serializer that it names itself.
    static final class Chain {
        @Nullable
        Chain next;
    }

    static final class ChainSerializer extends Serializer<Chain> {
        @Override
        public void write(Kryo kryo, Output out, Chain chain) {
            kryo.writeObjectOrNull(out, chain.next, this);
        }

        @Override
        public Chain read(Kryo kryo, Input in, Class<? extends Chain> type) {
            Chain chain = new Chain();
            chain.next = kryo.readObjectOrNull(in, Chain.class, this);
            return chain;
        }
    }

    /// Nests without asking Kryo, which so cannot count.
    static final class Recursion extends Serializer<Chain> {
        @Override
        public void write(Kryo kryo, Output out, Chain chain) {}

        @Override
        public Chain read(Kryo kryo, Input in, Class<? extends Chain> type) {
            return in.position() < 0 ? new Chain() : read(kryo, in, type);
        }
    }

    private final ObjectBytes bytes = new ObjectBytes(StateClasses.of(Holder.class, Mode.class));

    private static void refused(Runnable reading) {
        // Once for the classes that are loaded, whose memory is not that of the reading.
        assertThatExceptionOfType(FormatException.class).isThrownBy(reading::run);
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        Throwable thrown = null;
        try {
            reading.run();
        } catch (FormatException e) {
            thrown = e;
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - before;
        assertThat(thrown).isNotNull().message().doesNotContain("\n").containsAnyOf("[CROFT-OBJECT]", "[CROFT-CLASS]");
        assertThat(allocated).isLessThan(LITTLE);
    }

    private void fill(byte... made) {
        bytes.fill(bytes.allocate(Holder.class), made, Map.of());
    }

    /// Lengths of 10 million, of a gigabyte or two, and of less than nothing, in front of nothing.
    @ParameterizedTest
    @ValueSource(strings = {"80ade204", "ffffffff07", "ffffffff0f", "8080808004", "ff", ""})
    void aLengthThatLiesAllocatesNothing(String hex) {
        byte[] lie = HexFormat.of().parseHex(hex);
        for (Class<?> type : List.<Class<?>>of(BigInteger.class, BigDecimal.class, BitSet.class)) {
            refused(() -> bytes.value(type, lie));
        }
        refused(() -> fill(lie));
    }

    @ParameterizedTest
    @ValueSource(strings = {"c1808008", "bfffffff1f", "ffffffffff", "c0808080", "80", "81", ""})
    void aTextWhoseLengthLiesAllocatesNothing(String hex) {
        byte[] lie = HexFormat.of().parseHex(hex);
        refused(() -> bytes.value(TimeUnit.class, lie));
        refused(() -> bytes.value(java.net.URI.class, hex.equals("81") ? new byte[]{(byte) 0x82} : lie));
        refused(() -> bytes.value(java.util.Currency.class, lie));
    }

    static Stream<Consumer<Input>> readers() {
        // Few enough for a heap to take them.
        int many = 4 << 20;
        return Stream.of(in -> in.readBytes(many), in -> in.readBooleans(many),
                in -> in.readShorts(many), in -> in.readChars(many), in -> in.readInts(many),
                in -> in.readInts(many, true), in -> in.readLongs(many), in -> in.readLongs(many, true),
                in -> in.readFloats(many), in -> in.readDoubles(many), in -> in.readBytes(-1), in -> in.readInts(-1),
                in -> in.readLongs(3), in -> in.readShorts(9), in -> in.readString(), in -> in.readStringBuilder(),
                in -> in.skip(1 << 20));
    }

    @ParameterizedTest
    @MethodSource("readers")
    void noReadOfASerializerAllocatesMoreThanThereIs(Consumer<Input> body) {
        ObjectBytes reading = new ObjectBytes(
                StateClasses.of().with(Reader.class, new ReaderSerializer(body)));
        byte[] lie = HexFormat.of().parseHex("ffffffff0f0000000000000000000000");
        refused(() -> reading.read(Reader.class, lie, Map.of()));
    }

    @Test
    void aChainTooDeepIsRefused() {
        ObjectBytes chains = new ObjectBytes(StateClasses.of().with(Chain.class, new ChainSerializer()));
        byte[] deep = new byte[1 << 20];
        Arrays.fill(deep, (byte) 1);
        refused(() -> chains.read(Chain.class, deep, Map.of()));
        byte[] shallow = Arrays.copyOf(deep, 100);
        shallow[99] = 0;
        assertThat(chains.read(Chain.class, shallow, Map.of())).isInstanceOf(Chain.class);
    }

    @Test
    void aStackThatOverflowsIsATypedError() {
        ObjectBytes chains = new ObjectBytes(StateClasses.of().with(Chain.class, new Recursion()));
        refused(() -> chains.read(Chain.class, new byte[0], Map.of()));
    }

    @Test
    void aHeapThatIsFullIsATypedError() {
        ObjectBytes greedy = new ObjectBytes(StateClasses.of().with(Reader.class, new ReaderSerializer(in -> {
            throw new OutOfMemoryError("full");
        })));
        refused(() -> greedy.read(Reader.class, new byte[0], Map.of()));
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
    @ValueSource(strings = {"0c", "7f", "ffffffff07", "0b", "01", "0180", "0182"})
    void anUnknownClassIsRefused(String tag) {
        refused(() -> fill(field(tag)));
    }

    @Test
    void aFieldThatComesTwiceIsRefused() {
        byte[] once = field("00");
        fill(once);
        byte[] twice = HexFormat.of().parseHex("02" + "616ef900" + "616ef900");
        refused(() -> fill(twice));
        refused(() -> bytes.fill(bytes.allocate(Holder.class), once, Map.of("any", List.of())));
    }

    @Test
    void bytesThatGoOnOrEndEarlyAreRefused() {
        byte[] whole = bytes.of(new Holder()).bytes();
        fill(whole);
        refused(() -> fill(Arrays.copyOf(whole, whole.length + 1)));
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            refused(() -> fill(cut));
        }
    }

    @Test
    void everyFlippedBitGivesAnObjectOrATypedError() {
        byte[] whole = bytes.of(new Holder()).bytes();
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

    @Test
    void noiseForAnyValueGivesAValueOrATypedError() {
        SplittableRandom random = new SplittableRandom(7);
        for (JdkValues.Value<?> value : JdkValues.all()) {
            Class<?> type = JdkValues.named(value.type().getName()).orElse(Integer.class);
            for (int i = 0; i < 500; i++) {
                byte[] noise = new byte[random.nextInt(20)];
                random.nextBytes(noise);
                try {
                    assertThat(bytes.value(type, noise)).isInstanceOf(type);
                } catch (FormatException e) {
                    assertThat(e.code()).isIn(CODES);
                }
            }
        }
    }
}
