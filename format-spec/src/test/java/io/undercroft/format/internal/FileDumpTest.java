package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FileDump;
import io.undercroft.format.dump.FormatDump.Line;
import io.undercroft.format.dump.FormatDump.Part;
import io.undercroft.format.dump.SetDump;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.StreamSupport;
import net.openhft.chronicle.bytes.Bytes;
import org.junit.jupiter.api.Test;

class FileDumpTest {
    private static final long ALL = Long.MAX_VALUE / 16;
    private static final String NUMBER = "-?\\d+|0x[0-9a-f]{8}";

    private static List<Part> parts(byte[] file, long limit) {
        List<Part> parts = new ArrayList<>();
        Optional<FormatException> fault = FileDump.of(MemorySegment.ofArray(file), _ -> true, limit,
                OptionalLong.empty(), parts::add);
        assertThat(fault).isEmpty();
        return parts;
    }

    @Test
    void everyByteOfEverySectionHasAMeaning() throws IOException {
        byte[] file = Features.everySection().toByteArray();
        List<Part> parts = parts(file, ALL);

        assertThat(parts).extracting(Part::section).containsSubsequence(FileDump.sections());
        BitSet shown = shown(parts.stream().filter(part -> !part.section().equals("extents")).toList());
        CommitRecord commit = Refusals.open(file).commit();
        int index = (int) commit.indexOffset();
        assertThat(shown.nextClearBit(index)).isGreaterThanOrEqualTo(index + (int) commit.indexLength());
        assertThat(shown.nextClearBit(0)).isGreaterThanOrEqualTo(FileLayout.PREFIX_BYTES);
        assertThat(parts).allSatisfy(part -> assertThat(part.fault()).isNull());
    }

    private static BitSet shown(List<Part> parts) {
        BitSet shown = new BitSet();
        parts.stream().flatMap(part -> StreamSupport.stream(part.lines().spliterator(), false))
                .forEach(line -> shown.set((int) line.offset(), (int) (line.offset() + line.bytes().byteSize())));
        return shown;
    }

    @Test
    void allFilesOfTheSpecificationAreDescribed() throws IOException {
        for (Map.Entry<String, byte[]> golden : GoldenFiles.all().entrySet()) {
            MemorySegment file = MemorySegment.ofArray(golden.getValue());
            if (Header.isSignature(file)) {
                List<Part> parts = new ArrayList<>();
                FileDump.of(file, _ -> true, 3, OptionalLong.empty(), parts::add);
                assertThat(parts).as(golden.getKey()).extracting(Part::section).contains("header", "commits",
                        "directory");
            }
        }
    }

    @Test
    void widerRecordsOfLaterVersionsAreFound() throws IOException {
        byte[] before = Golden.resource(Golden.FILE);
        byte[] later = Future.of(before, EnumSet.of(SectionType.EXTN, SectionType.TENS, SectionType.NAMS),
                Future.UNSAFE, Future.SAFE);

        assertThat(titles(later)).containsAll(titles(before));
    }

    /// Chronicle Bytes is a second codec of the fields, in the byte order of the host.
    @Test
    void theValuesOfFieldsWrittenByChronicleAreTheirBytes() throws IOException {
        Map<Long, Integer> compared = new TreeMap<>();
        List<byte[]> files = new ArrayList<>(GoldenFiles.all().values());
        files.add(Features.everySection().toByteArray());
        Bytes<?> out = Bytes.allocateElasticOnHeap();
        for (byte[] file : files) {
            if (Header.isSignature(MemorySegment.ofArray(file))) {
                for (Part part : parts(file, ALL)) {
                    for (Line line : part.lines()) {
                        if (line.bytes().byteSize() <= Long.BYTES && line.meaning().matches(NUMBER)
                                && !part.section().matches("tree|meta|strb")) {
                            write(out.clear(), Long.decode(line.meaning()), line.bytes().byteSize());
                            assertThat(out.toByteArray()).as("%s, %s", part.title(), line.name())
                                    .isEqualTo(line.bytes().toArray(ValueLayout.JAVA_BYTE));
                            compared.merge(line.bytes().byteSize(), 1, Integer::sum);
                        }
                    }
                }
            }
        }
        assertThat(compared).containsOnlyKeys(1L, 2L, 4L, 8L).allSatisfy((_, count) -> assertThat(count)
                .isGreaterThan(100));
    }

    private static void write(Bytes<?> out, long value, long size) {
        switch ((int) size) {
            case Byte.BYTES -> out.writeUnsignedByte((int) value);
            case Short.BYTES -> out.writeUnsignedShort((int) value);
            case Integer.BYTES -> out.writeUnsignedInt(value);
            default -> out.writeLong(value);
        }
    }

    @Test
    void whatNobodyKnowsIsDescribedToo() throws IOException {
        byte[] later = Future.of(Golden.resource(Golden.FILE),
                EnumSet.of(SectionType.EXTN, SectionType.TENS, SectionType.NAMS), Future.UNSAFE, Future.SAFE);
        List<Part> parts = parts(later, ALL);

        assertThat(parts).extracting(Part::title).contains("unknown section " + Future.SAFE.code());
        assertThat(parts).filteredOn(part -> part.section().equals("nams")).isNotEmpty()
                .allSatisfy(part -> assertThat(part.lines()).last().extracting(Line::name).isEqualTo("unknown"));
        CommitRecord commit = Refusals.open(later).commit();
        int index = (int) commit.indexOffset();
        assertThat(shown(parts).nextClearBit(index)).isGreaterThanOrEqualTo(index + (int) commit.indexLength());
    }

    @Test
    void everyByteOfASetIsDescribed() throws IOException {
        for (String name : List.of("set.croftset", "slices.croftset")) {
            byte[] file = Golden.resource("golden/" + name);
            List<Part> parts = new ArrayList<>();
            assertThat(set(file, 100, parts)).isEmpty();
            assertThat(shown(parts).nextClearBit(0)).isEqualTo(file.length);
            assertThat(parts).extracting(Part::section).contains("manifest", "shards", "texts");
            assertThat(parts).allSatisfy(part -> assertThat(part.fault()).isNull());
        }
        List<Part> some = new ArrayList<>();
        set(Golden.resource("golden/set.croftset"), 1, some);
        assertThat(some).extracting(Part::title).contains("shard 0, 'sealed.croft'");
        assertThat(some).filteredOn(part -> part.section().equals("shards")).singleElement()
                .extracting(Part::omitted).isEqualTo(1L);
    }

    @Test
    void aDamagedSetIsDescribedAsFarAsItGoes() throws IOException {
        byte[] whole = Golden.resource("golden/slices.croftset");
        for (int length = Long.BYTES; length < whole.length; length++) {
            List<Part> parts = new ArrayList<>();
            assertThat(set(Arrays.copyOf(whole, length), 100, parts)).isPresent();
            assertThat(parts.getFirst().fault()).isNotNull();
        }
        SplittableRandom random = new SplittableRandom(5);
        for (int i = 0; i < 2000; i++) {
            byte[] damaged = whole.clone();
            damaged[Long.BYTES
                    + random.nextInt(i % 2 == 0 ? 200 : whole.length - Long.BYTES)] ^= (byte) (1 + random.nextInt(255));
            assertThat(set(damaged, 100, new ArrayList<>())).isPresent();
        }
    }

    private static Optional<FormatException> set(byte[] file, long limit, List<Part> parts) {
        SetDump dump = new SetDump();
        MemorySegment bytes = MemorySegment.ofArray(file);
        assertThat(dump.matches(bytes)).isTrue();
        return dump.describe(bytes, dump.sections()::contains, limit, parts::add);
    }

    private static List<String> titles(byte[] file) {
        return parts(file, ALL).stream().filter(part -> part.section().matches("tens|nams|extn")).map(Part::title)
                .toList();
    }

    @Test
    void codedExtentsSayHowAndAgainstWhatTheyAreCoded() {
        assertThat(parts(Features.coded().toByteArray(), ALL)).extracting(Part::title).contains("EXTN 0, RAW",
                "EXTN 1, CODED, 256 bytes in planes of elements of 4, combined with those from 1024 on in this file",
                "EXTN 2, CODED, 256 bytes in planes of elements of 2",
                "CODE 0, extent 1, 256 bytes in planes of elements of 4, combined with those from 1024 on in this file",
                "CODE 1, extent 2, 256 bytes in planes of elements of 2");
        assertThat(parts(Features.everySection().toByteArray(), ALL)).extracting(Part::title)
                .contains("CODE 0, extent 3, 240 bytes in planes of elements of 2, combined with those from 7 on in "
                        + "'model.safetensors'");
    }

    @Test
    void codingsThatBreakARuleAreDescribedWithIt() {
        Forgery forgery = new Forgery(Features.coded().toByteArray());
        long first = forgery.at(SectionType.CODE, 0);
        for (byte[] file : List.of(new Forgery(Features.coded().toByteArray()).putInt(first, -1).sealed(),
                new Forgery(Features.coded().toByteArray()).putByte(first + 4, 9).sealed())) {
            List<Part> parts = new ArrayList<>();
            FileDump.of(MemorySegment.ofArray(file), _ -> true, ALL, OptionalLong.empty(), parts::add);
            assertThat(parts).filteredOn(part -> part.section().equals("code")).hasSize(2);
            assertThat(parts).filteredOn(part -> part.fault() != null).isNotEmpty();
        }
    }

    @Test
    void theNumberOfDescribedRecordsIsLimited() throws IOException {
        byte[] file = Features.everySection().toByteArray();
        List<Part> parts = parts(file, 1);

        assertThat(parts).filteredOn(part -> part.section().equals("tens")).singleElement()
                .satisfies(part -> assertThat(part.omitted()).isEqualTo(Refusals.open(file).tensorCount() - 1L));
    }

    @Test
    void partsThatDoNotMatchTheirChecksumAreMarked() throws IOException {
        byte[] file = Golden.resource(Golden.FILE);
        file[20] ^= 1;
        List<Part> parts = new ArrayList<>();

        Optional<FormatException> fault = FileDump.of(MemorySegment.ofArray(file), _ -> true, 1, OptionalLong.empty(),
                parts::add);

        assertThat(fault).map(FormatException::code).contains(Rule.V14_CHECKSUM.code());
        assertThat(parts.getFirst().fault()).isNotNull();
        assertThat(parts.getFirst().lines()).extracting(Line::name).contains("signature", "file uuid");
        assertThatExceptionOfType(FormatException.class)
                .isThrownBy(() -> FileDump.of(MemorySegment.ofArray(new byte[2000]), _ -> true, 1, OptionalLong.empty(),
                        parts::add));
    }

    @Test
    void linesAreMadeWhileTheyAreReadAndTheSameEachTime() throws IOException {
        List<Part> parts = parts(Features.everySection().toByteArray(), ALL);

        for (Part part : parts.stream().filter(part -> part.section().matches("tree|meta|strb")).toList()) {
            assertThat(part.lines()).as(part.section()).isNotInstanceOf(List.class).isNotEmpty();
            assertThat(offsets(part)).isEqualTo(offsets(part)).isSorted();
        }
    }

    private static List<Long> offsets(Part part) {
        return StreamSupport.stream(part.lines().spliterator(), false).map(Line::offset).toList();
    }
}
