package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FileDump;
import io.undercroft.format.dump.FormatDump.Line;
import io.undercroft.format.dump.FormatDump.Part;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;

class FileDumpTest {
    private static final long ALL = Long.MAX_VALUE / 16;

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
        BitSet shown = new BitSet();
        parts.stream().filter(part -> !part.section().equals("extents"))
                .flatMap(part -> StreamSupport.stream(part.lines().spliterator(), false))
                .forEach(line -> shown.set((int) line.offset(), (int) (line.offset() + line.bytes().byteSize())));
        CommitRecord commit = Refusals.open(file).commit();
        for (int at = (int) commit.indexOffset(); at < commit.indexOffset() + commit.indexLength(); at++) {
            assertThat(shown.get(at) || file[at] == 0).as("byte %d", at).isTrue();
        }
        assertThat(shown.nextClearBit(0)).isGreaterThanOrEqualTo(FileLayout.PREFIX_BYTES);
        assertThat(parts).allSatisfy(part -> assertThat(part.fault()).isNull());
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
