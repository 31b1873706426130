package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// The golden files, those that are kept and those that are made now.
class GoldenTest {
    private static final Pattern LINE = Pattern
            .compile(" {2}([0-9a-f]{10}) {2}([0-9a-f]{2}(?: [0-9a-f]{2}){0,15})(?: +# .*)?");
    private static final SortedMap<String, byte[]> MADE = made();

    private final ByteSource source = ByteSource.of(MemorySegment.ofArray(Golden.resource(Golden.FILE)));

    private static SortedMap<String, byte[]> made() {
        try {
            return GoldenFiles.all();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    static Set<String> names() {
        return MADE.keySet();
    }

    static Stream<String> croftFiles() {
        return MADE.keySet().stream().filter(name -> name.endsWith(".croft"));
    }

    static Stream<String> dumpedFiles() {
        return MADE.keySet().stream().filter(Golden::hasDump);
    }

    @ParameterizedTest
    @MethodSource("names")
    void theSameInputGivesTheSameBytes(String name) {
        assertThat(MADE.get(name)).isEqualTo(kept(name));
    }

    @Test
    void noOtherFilesAreKept() throws IOException {
        Set<String> expected = new TreeSet<>(MADE.keySet());
        dumpedFiles().map(Golden::dumpOf).forEach(expected::add);
        expected.add(Golden.CONTENTS);
        try (Stream<Path> kept = Files.list(Golden.FOLDER)) {
            assertThat(kept.map(path -> path.getFileName().toString()).collect(Collectors.toSet()))
                    .isEqualTo(expected);
        }
    }

    @ParameterizedTest
    @MethodSource("dumpedFiles")
    void everyLineOfTheDumpIsWhatStandsInTheFileThere(String name) {
        byte[] file = kept(name);
        long compared = text(Golden.dumpOf(name)).lines().filter(line -> line.startsWith("  0")).map(LINE::matcher)
                .mapToLong(found -> {
                    assertThat(found.matches()).isTrue();
                    int at = Integer.parseInt(found.group(1), 16);
                    byte[] bytes = HexFormat.ofDelimiter(" ").parseHex(found.group(2));
                    assertThat(Arrays.copyOfRange(file, at, at + bytes.length)).as(found.group()).isEqualTo(bytes);
                    return bytes.length;
                }).sum();
        assertThat(compared).isGreaterThan(name.endsWith(".croft") ? 1000 : 200);
    }

    @Test
    void theSpecificationShowsTheDump() throws IOException {
        assertThat(Golden.spec()).contains("```text\n" + text("everything.txt") + "```\n");
    }

    @Test
    void theSpecificationListsTheFiles() throws IOException {
        List<String> listed = SpecTable.one(Golden.spec(), "file", "shows").rows().stream().map(List::getFirst)
                .toList();
        assertThat(dumpedFiles()).containsExactlyInAnyOrderElementsOf(listed);
    }

    @Test
    void theFilesHoldWhatIsWrittenDown() throws IOException {
        assertThat(Contents.of(MADE)).isEqualTo(text(Golden.CONTENTS));
    }

    @ParameterizedTest
    @MethodSource("croftFiles")
    void everyFileIsSoundWithAllItsBases(String name) throws IOException {
        assertThat(Refusals.verify(kept(name), new Folder(Golden.FOLDER)))
                .isEqualTo(new Verifier.Result(List.of(), 0, 0));
    }

    @Test
    void everythingReadsBackAsItWasSaved() throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);

        assertThat(snapshot.storageCount()).isEqualTo(4);
        assertThat(snapshot.storage(0)).isEqualTo(new StorageRecord(65616, 0, 2, "cuda:0"));
        assertThat(snapshot.extent(0).kind()).isEqualTo(ExtentKind.ZERO);
        assertThat(snapshot.extent(1).fileOffset()).isEqualTo(FileLayout.MAPPING_ALIGNMENT);
        assertThat(snapshot.extent(2).fileOffset()).isEqualTo(FileLayout.DATA_START);
        assertThat(snapshot.storage(3).extentCount()).isZero();
        assertThat(snapshot.tensor(snapshot.findTensor("model/größe"))).isEqualTo(
                new TensorRecord(0, 1, 4, Set.of(), new long[]{3, 3}, new long[]{1, 4}));
        assertThat(snapshot.tensor(0).flags()).containsExactly(TensorFlag.REQUIRES_GRAD);
        assertThat(snapshot.dtype(1)).isEqualTo(new DTypeRecord("int4", 4));
        assertThat(snapshot.metadata()).isEqualTo(Map.of("title", "everything", "made by", "Undercroft"));
        assertThat(snapshot.skippedCommit()).isNull();
        assertThat(snapshot.commit().uuid().version()).isEqualTo(8);
        assertThat(snapshot.commit().uuid().variant()).isEqualTo(2);
    }

    @Test
    void tiedNamesLeadToOneTensorAndTheFirstIsTheOneItIsShownBy() throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);

        assertThat(snapshot.findTensor("model/wte.weight")).isZero();
        assertThat(snapshot.findTensor("model/lm_head.weight")).isZero();
        assertThat(snapshot.name(snapshot.nameOfTensor(0))).isEqualTo("model/wte.weight");
    }

    @Test
    void namesAreFoundAmongSortedOnesAndOthersAreNot() throws IOException {
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);

        for (int name = 0; name < snapshot.nameCount(); name++) {
            assertThat(snapshot.findTensor(snapshot.name(name))).isEqualTo(snapshot.tensorOfName(name));
            assertThat(snapshot.findTensor(snapshot.name(name) + "~")).isEqualTo(-1);
        }
    }

    @Test
    void aChangedChunkIsWrittenAndTheOthersAreNamedAgain() throws IOException {
        Snapshot third = open("snapshots.croft");
        Snapshot second = third.openAt(2);
        Snapshot first = third.openAt(1);

        assertThat(second.commit().message()).isNotEmpty();
        assertThat(second.extent(0)).isEqualTo(first.extent(0));
        assertThat(second.extent(1).fileOffset()).isGreaterThan(first.commit().committedLength() - 1);
        assertThat(List.of(third.extent(0), third.extent(1))).isEqualTo(List.of(second.extent(0), second.extent(1)));
    }

    @Test
    void theTailOfATornAppendIsFree() throws IOException {
        Snapshot second = open("torn.croft");
        Header header = second.header();
        long end = second.openAt(1).commit().committedLength();
        assertThat(second.freeRange(0)).isEqualTo(new FreeRange(end, header.slots() - end));
        assertThat(second.freeRange(1)).isEqualTo(new FreeRange(header.slotsEnd(), 300));
    }

    @Test
    void equalChunksStandOnce() throws IOException {
        Snapshot snapshot = open("dedup.croft");
        List<ExtentRecord> extents = Stream.iterate(0, i -> i + 1).limit(snapshot.extentCount())
                .map(snapshot::extent).toList();
        assertThat(extents).extracting(ExtentRecord::isShared).containsExactly(true, true, true, false, true, true,
                true, true);
        assertThat(extents.stream().map(ExtentRecord::fileOffset).distinct()).hasSize(4);
        assertThat(extents.get(3).fileOffset()).as("the large storage 1 is stitched")
                .isNotEqualTo(extents.get(2).fileOffset() + extents.get(2).storedLength());
    }

    @Test
    void bytesStandInOtherFiles() throws IOException {
        assertThat(open("based.croft").extent(0).kind()).isEqualTo(ExtentKind.RAW);
        assertThat(open("based.croft").extent(0).base()).isEqualTo(1);
        assertThat(open("based.croft").base(0).sequence()).isEqualTo(2);
        assertThat(open("foreign.croft").extent(0).kind()).isEqualTo(ExtentKind.FOREIGN);
        assertThat(open("foreign.croft").base(0).path()).isEqualTo("foreign.safetensors");
    }

    @Test
    void extentsAreCodedAloneAndAgainstBytesOfThisFileAndOfAnother() throws IOException {
        Snapshot second = open("coded.croft");
        Snapshot first = second.openAt(1);
        List<ExtentRecord> extents = Stream.iterate(0, i -> i + 1).limit(first.extentCount()).map(first::extent)
                .toList();
        assertThat(extents).extracting(ExtentRecord::kind).containsExactly(ExtentKind.RAW, ExtentKind.CODED,
                ExtentKind.CODED, ExtentKind.CODED, ExtentKind.CODED);
        List<Coding> codings = extents.stream().skip(1).map(ExtentRecord::coding).toList();
        assertThat(codings).extracting(Coding::codec).containsExactly(Coding.DIFFERENCE, Coding.PLANES, Coding.PLANES,
                Coding.DIFFERENCE);
        assertThat(codings).extracting(Coding::width).containsExactly(4, 4, 2, 1);
        assertThat(codings).extracting(Coding::referenceBase).containsExactly(0, 0, 0, 1);
        assertThat(codings.getFirst().referenceOffset()).isEqualTo(extents.getFirst().fileOffset());
        assertThat(second.extent(1).fileOffset()).isGreaterThan(first.commit().committedLength());
        assertThat(second.extent(2)).isEqualTo(first.extent(2));
    }

    @Test
    void theOthersHaveWhatTheyShow() throws IOException {
        assertThat(open("sealed.croft").header().isSealed()).isTrue();
        assertThat(open("large-index.croft").index().count(SectionType.ISUM)).isGreaterThan(16);
        Snapshot future = open("future.croft");
        assertThat(future.header().minor()).isGreaterThan(Header.MINOR);
        assertThat(future.unknownSections()).extracting(UnknownSection::isSafeToCopy).containsExactly(false, true);
        assertThat(future.index().recordSize(SectionType.TENS)).isGreaterThan(SectionType.TENS.recordSize());
        assertThat(future.dtype(0).name()).isEqualTo("gguf.q4_0");
    }

    private static Snapshot open(String name) throws IOException {
        return Refusals.open(kept(name));
    }

    private static byte[] kept(String name) {
        return Golden.resource("golden/" + name);
    }

    private static String text(String name) {
        return new String(kept(name), StandardCharsets.UTF_8);
    }
}
