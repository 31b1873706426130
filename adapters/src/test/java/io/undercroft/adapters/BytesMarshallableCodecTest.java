package io.undercroft.adapters;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.testsupport.Tries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import net.openhft.chronicle.bytes.BytesIn;
import net.openhft.chronicle.bytes.BytesMarshallable;
import net.openhft.chronicle.bytes.BytesOut;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BytesMarshallableCodecTest {
    /// The code of an object that cannot be made of what was saved.
    private static final String OBJECT = "[CROFT-OBJECT]";
    private static final int FLIPS = 500;
    /// As many bytes as a codec no longer saves as a value.
    private static final int LARGE = 100_000;

    @TempDir
    private Path folder;

    /// Marshalled by Chronicle, field by field.
    static final class Book implements BytesMarshallable {
        private @Nullable String symbol;
        private long sequence;
        private double @Nullable [] unused;
        private byte @Nullable [] levels;
        private List<String> venues = List.of();

        static Book of(@Nullable String symbol, int levels) {
            Book book = new Book();
            book.symbol = symbol;
            book.sequence = 42;
            book.levels = new byte[levels];
            Arrays.fill(book.levels, (byte) 7);
            book.venues = List.of("x", "größe");
            return book;
        }

        @Override
        public void writeMarshallable(BytesOut<?> out) {
            out.writeUtf8(symbol).writeLong(sequence).writeBoolean(unused == null);
            byte[] written = levels;
            out.writeStopBit(written == null ? -1 : written.length);
            if (written != null) {
                out.write(written);
            }
            out.writeStopBit(venues.size());
            venues.forEach(out::writeUtf8);
        }

        @Override
        public void readMarshallable(BytesIn<?> in) {
            symbol = text(in);
            sequence = in.readLong();
            unused = in.readBoolean() ? null : new double[0];
            long length = in.readStopBit();
            if (length > in.readRemaining()) {
                throw new IllegalStateException("the levels are cut");
            }
            levels = length < 0 ? null : new byte[(int) length];
            if (levels != null) {
                in.read(levels);
            }
            long count = in.readStopBit();
            if (count > in.readRemaining()) {
                throw new IllegalStateException("the venues are cut");
            }
            String[] read = new String[Math.toIntExact(count)];
            Arrays.setAll(read, _ -> text(in));
            venues = List.of(read);
        }
    }

    /// Chronicle reads an empty text where there are no bytes.
    private static @Nullable String text(BytesIn<?> in) {
        if (in.readRemaining() == 0) {
            throw new IllegalStateException("a text is cut");
        }
        return in.readUtf8();
    }

    /// Written and read by Chronicle's own implementation.
    @SuppressWarnings("UnusedVariable") // Read by reflection.
    static final class Quote implements BytesMarshallable {
        private @Nullable String symbol;
        private double bid;
        private int @Nullable [] sizes;
        private @Nullable List<String> venues;

        static Quote of(@Nullable String symbol, int @Nullable [] sizes, @Nullable List<String> venues) {
            Quote quote = new Quote();
            quote.symbol = symbol;
            quote.bid = 1.5;
            quote.sizes = sizes;
            quote.venues = venues;
            return quote;
        }
    }

    private static StateClasses classes() {
        return StateClasses.of().with(Book.class, new BytesMarshallableCodec<>(Book::new))
                .with(Quote.class, new BytesMarshallableCodec<>(Quote::new));
    }

    private Path saved(Object state) throws IOException {
        Path file = folder.resolve("state.croft");
        Checkpoint.save(file, state, SaveOptions.defaults().classes(classes()));
        return file;
    }

    private static <T> T open(Path file, Class<T> type, OpenOptions options) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file, options.classes(classes()))) {
            assertThat(checkpoint.verify().isIntact()).isTrue();
            return type.cast(Objects.requireNonNull(checkpoint.state(Map.class).get("object")));
        }
    }

    @Test
    void anObjectComesBackAsOneWithItsNulls() throws IOException {
        Quote quote = Quote.of(null, new int[]{1, 2, 3}, null);
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("object", quote);
        state.put("same", quote);
        state.put("other", Quote.of("größe", null, List.of("a", "b")));
        Path file = saved(state);
        try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().classes(classes()))) {
            Map<?, ?> back = checkpoint.state(Map.class);
            Quote read = (Quote) Objects.requireNonNull(back.get("object"));
            assertThat(back.get("same")).isSameAs(read);
            assertThat(read).usingRecursiveComparison().isEqualTo(quote);
            assertThat(back.get("other")).usingRecursiveComparison().isEqualTo(state.get("other"));
        }
    }

    @Test
    void largeObjectsAreStoragesOfTheFile() throws IOException {
        Book book = Book.of("a", LARGE);
        Path file = saved(Map.of("object", book));
        assertThat(open(file, Book.class, OpenOptions.defaults())).usingRecursiveComparison().isEqualTo(book);
        assertThat(open(file, Book.class, OpenOptions.defaults().inMemory())).usingRecursiveComparison()
                .isEqualTo(book);
        assertThat(part(file)).isInstanceOfSatisfying(Storage.class,
                storage -> assertThat(storage.nbytes()).isBetween((long) LARGE, LARGE + 100L));
        assertThat(part(saved(Map.of("object", Book.of("a", 100))))).isInstanceOf(byte[].class);
    }

    @Test
    void bytesThatTheClassDidNotWriteAreReportedWithThePathOfTheObject() throws IOException {
        for (Book book : List.of(Book.of("a", 20), Book.of(null, LARGE))) {
            Path file = saved(Map.of("object", book));
            byte[] whole = bytes(part(file));
            for (int length = 0; length < whole.length; length += whole.length > 1000 ? 9973 : 1) {
                Object cut = like(book, Arrays.copyOf(whole, length));
                assertThatThrownBy(() -> open(file, cut)).hasMessageContaining("'object' cannot be made")
                        .hasMessageContaining(OBJECT);
            }
            Object longer = like(book, Arrays.copyOf(whole, whole.length + 1));
            assertThatThrownBy(() -> open(file, longer)).hasMessageContaining("bytes after the end")
                    .hasMessageContaining(OBJECT);
        }
    }

    @Test
    void damagedBytesAreReportedOrAreThoseOfAnotherObject() throws IOException {
        SplittableRandom random = new SplittableRandom(3);
        Object book = Book.of("a symbol", 20);
        Object quote = Quote.of("a symbol", new int[]{1, 2, 3}, List.of("a", "b"));
        for (int i = 0; i < Tries.of(FLIPS); i++) {
            Path file = saved(Map.of("object", i % 2 == 0 ? book : quote));
            byte[] noise = bytes(part(file));
            for (int k = 0; k < 1 + i % 3; k++) {
                noise[random.nextInt(noise.length)] = (byte) random.nextInt();
            }
            try {
                open(file, i % 4 < 2 ? noise : Storage.copyOf(noise));
            } catch (RuntimeException e) {
                assertThat(e).hasMessageContaining("'object'").hasMessageContaining(OBJECT);
            }
        }
    }

    @Test
    void lengthsThatTheBytesDoNotHaveCostNoMemory() throws IOException {
        Path file = saved(Map.of("object", Quote.of(null, new int[1000], null)));
        byte[] whole = bytes(part(file));
        for (int start = 0; start < 20; start++) {
            byte[] hostile = Arrays.copyOf(whole, 20);
            Arrays.fill(hostile, start, hostile.length, (byte) 0x7f);
            assertThatThrownBy(() -> open(file, hostile)).hasMessageContaining(OBJECT)
                    .hasMessageNotContaining("OutOfMemoryError");
        }
    }

    @Test
    void partsThatAreNotThoseOfACodecAreRefused() throws IOException {
        Path file = saved(Map.of("object", Book.of("a", 1)));
        for (Object other : List.of("text", Storage.allocate(0), List.of())) {
            assertThatThrownBy(() -> open(file, other)).hasMessageContaining("'object'")
                    .hasMessageContaining(OBJECT);
        }
    }

    private static Object like(Book book, byte[] bytes) {
        byte[] levels = Objects.requireNonNull(book.levels);
        return levels.length < LARGE ? bytes : Storage.copyOf(bytes);
    }

    private static byte[] bytes(Object part) {
        return part instanceof Storage storage
                ? storage.segment().toArray(ValueLayout.JAVA_BYTE)
                : (byte[]) part;
    }

    private static Object part(Path file) throws IOException {
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            TypedMap node = (TypedMap) Objects.requireNonNull(((Map<?, ?>) checkpoint.tree()).get("object"));
            Object part = Objects.requireNonNull(node.get("bytes"));
            return part instanceof Storage ? Storage.copyOf(bytes(part)) : part;
        }
    }

    /// Saves a state again with other bytes of the object, and opens that.
    private void open(Path file, Object bytes) throws IOException {
        Path changed = folder.resolve("changed.croft");
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            Map<?, ?> tree = (Map<?, ?>) checkpoint.tree();
            ((TypedMap) Objects.requireNonNull(tree.get("object"))).put("bytes", bytes);
            Checkpoint.save(changed, tree);
        }
        try (Checkpoint checkpoint = Checkpoint.open(changed, OpenOptions.defaults().classes(classes()))) {
            checkpoint.state();
        }
    }

    @Test
    void anObjectThatRefusesToBeWrittenIsNotSaved() {
        assertThatIllegalArgumentException().isThrownBy(() -> Checkpoint.save(folder.resolve("no.croft"),
                Map.of("object", new Refusing()),
                SaveOptions.defaults()
                        .classes(StateClasses.of().with(Refusing.class, new BytesMarshallableCodec<>(Refusing::new)))))
                .withMessageContaining("cannot save the value at 'object': the codec of");
    }

    static final class Refusing implements BytesMarshallable {
        @Override
        public void writeMarshallable(BytesOut<?> out) {
            throw new IllegalStateException("not now");
        }
    }

    @Test
    void severalThreadsUseOneCodec() {
        StateClasses shared = classes();
        IntStream.range(0, 64).parallel().forEach(i -> {
            Path file = folder.resolve("state-" + i + ".croft");
            try {
                Checkpoint.save(file, Book.of("a" + i, i * 3000), SaveOptions.defaults().classes(shared));
                try (Checkpoint checkpoint = Checkpoint.open(file, OpenOptions.defaults().classes(shared))) {
                    assertThat(checkpoint.state(Book.class).symbol).isEqualTo("a" + i);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }
}
