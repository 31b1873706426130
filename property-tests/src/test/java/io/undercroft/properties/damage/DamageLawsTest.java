package io.undercroft.properties.damage;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.properties.states.StateSketch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Sameness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Assume;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.footnotes.EnableFootnotes;
import net.jqwik.api.footnotes.Footnotes;

/// A damaged file is reported by a `FormatException`, or opened, and nothing else happens.
@EnableFootnotes
class DamageLawsTest {
    private static final List<byte[]> COMPRESSED = compressed();

    @Provide
    Arbitrary<StateSketch> states() {
        return StateSketch.plain(30);
    }

    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(200);
    }

    @Provide
    Arbitrary<Path> torchZips() {
        return Arbitraries.of(Fixtures.torchZips());
    }

    /// Damages bytes, and prints how if the law does not hold.
    private static byte[] damaged(byte[] sound, byte[] strikes, Footnotes footnotes) {
        byte[] damaged = Vandal.damage(sound, strikes);
        footnotes.addAfterFailure(() -> Vandal.difference(sound, damaged));
        return damaged;
    }

    @Property(tries = 2000)
    void damageToACroftFileIsReported(@ForAll("states") StateSketch state, @ForAll("choices") byte[] strikes,
            Footnotes footnotes)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Path path = scratch.file("a.croft");
            Checkpoint.save(path, state.make(), strikes.length % 2 == 0
                    ? SaveOptions.defaults()
                    : SaveOptions.defaults().compress(SaveOptions.Compression.ALONE));
            byte[] sound = Files.readAllBytes(path);
            byte[] damaged = damaged(sound, strikes, footnotes);
            // Bytes after the committed ones belong to nobody: a writer that died left them.
            Assume.that(!Arrays.equals(sound, 0, sound.length, damaged, 0, Math.min(sound.length, damaged.length)));
            assertThat(Reading.of(scratch.write("a.croft", damaged))).isEqualTo(Reading.REPORTED);
        }
    }

    /// Two files, of which the first has compressed chunks and the second such that need the first.
    private static List<byte[]> compressed() {
        SaveOptions options = SaveOptions.defaults().chunkSize(1 << 16);
        try (Scratch scratch = Scratch.make()) {
            Tensor weight = Tensor.arange(DType.INT32, 1 << 15);
            Checkpoint.save(scratch.file("base.croft"), Map.of("w", weight),
                    options.compress(SaveOptions.Compression.ALONE));
            weight.narrow(0, 700, 9000).fill(5);
            Checkpoint.save(scratch.file("a.croft"), Map.of("w", weight),
                    options.base(scratch.file("base.croft")).compress(SaveOptions.Compression.AGAINST_BASE));
            return List.of(Files.readAllBytes(scratch.file("base.croft")),
                    Files.readAllBytes(scratch.file("a.croft")));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Property(tries = 2000)
    void damageToCompressedChunksIsReported(@ForAll boolean isDifference, @ForAll("choices") byte[] strikes,
            Footnotes footnotes)
            throws IOException {
        byte[] sound = COMPRESSED.get(isDifference ? 1 : 0);
        byte[] damaged = damaged(sound, strikes, footnotes);
        Assume.that(!Arrays.equals(sound, 0, sound.length, damaged, 0, Math.min(sound.length, damaged.length)));
        try (Scratch scratch = Scratch.make()) {
            scratch.write("base.croft", COMPRESSED.getFirst());
            assertThat(Reading.of(scratch.write("a.croft", damaged))).isEqualTo(Reading.REPORTED);
        }
    }

    @Property(tries = 200)
    void whatFollowsTheCommittedBytesHarmsNothing(@ForAll("states") StateSketch state, @ForAll byte[] tail)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Path path = scratch.file("a.croft");
            Object saved = state.make();
            Checkpoint.save(path, saved, SaveOptions.defaults().wholeStorages());
            Files.write(path, tail, StandardOpenOption.APPEND);
            try (Checkpoint opened = Checkpoint.open(path)) {
                Sameness.check(saved, opened.state());
            }
        }
    }

    @Property(tries = 2000)
    void aDamagedTorchFileIsReadOrRefused(@ForAll("torchZips") Path file, @ForAll("choices") byte[] strikes,
            Footnotes footnotes)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            byte[] damaged = damaged(Files.readAllBytes(file), strikes, footnotes);
            assertThat(Reading.of(scratch.write("a.pt", damaged))).isNotNull();
        }
    }

    @Property(tries = 4000)
    void aDamagedPickleInASoundZipIsReadOrRefused(@ForAll("torchZips") Path file, @ForAll("choices") byte[] strikes,
            Footnotes footnotes)
            throws IOException {
        try (Scratch scratch = Scratch.make()) {
            byte[] damaged = TorchZip.changePickle(file, pickle -> damaged(pickle, strikes, footnotes));
            assertThat(Reading.of(scratch.write("a.pt", damaged))).isNotNull();
        }
    }

    @Property(tries = 1000)
    void randomBytesAreRefused(@ForAll("choices") byte[] bytes) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Reading reading = Reading.of(scratch.write("a", bytes));
            // The two bytes `].` are a pickle of Python, of an empty list.
            boolean mayBePickle = bytes.length > 1 && bytes[bytes.length - 1] == '.';
            assertThat(reading).isIn(Reading.REPORTED, mayBePickle ? Reading.SOUND : Reading.REPORTED);
        }
    }
}
