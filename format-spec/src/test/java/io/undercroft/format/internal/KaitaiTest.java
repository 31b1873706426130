package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.Field;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/// The description of the format for Kaitai Struct: the reader that its compiler makes of it, held against ours and
/// against the tables of `SPEC.md`.
class KaitaiTest {
    /// Where the description has the record of a table of the specification.
    private static final Map<String, String> RECORDS = Map.ofEntries(Map.entry("Header", "header"),
            Map.entry("Commit record", "newest"), Map.entry("Directory head", "newest.index.head"),
            Map.entry("Directory entry", "newest.index.entries"),
            Map.entry("EXTN: extents", "newest.index.extents.records"),
            Map.entry("STOR: storages", "newest.index.storages.records"),
            Map.entry("TENS: tensors", "newest.index.tensors.records"),
            Map.entry("DIMS: sizes and strides", "newest.index.dims.records"),
            Map.entry("NAMS: names", "newest.index.names.records"),
            Map.entry("STRS: numbered strings", "newest.index.strings.records"),
            Map.entry("DTYP: element types", "newest.index.dtypes.records"),
            Map.entry("BASE: other files", "newest.index.bases.records"),
            Map.entry("FREE: free ranges", "newest.index.free_ranges.records"),
            Map.entry("CODE: coded extents", "newest.index.codings.records"), Map.entry("Head of a set", "head"),
            Map.entry("Shard", "shards"));

    @TempDir
    private static Path folder;

    private static Kaitai kaitai;

    @BeforeAll
    static void compile() throws IOException, InterruptedException {
        // It imports the description of the files.
        kaitai = Kaitai.compile(Path.of("croftset.ksy"), folder);
    }

    @AfterAll
    static void close() throws IOException {
        kaitai.close();
    }

    static Stream<String> croftFiles() throws IOException {
        try (Stream<Path> files = Files.list(Golden.FOLDER)) {
            return files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".croft")).toList()
                    .stream();
        }
    }

    @ParameterizedTest
    @MethodSource("croftFiles")
    void itReadsWhatWeRead(String name) throws IOException {
        assertSameReading(Golden.resource("golden/" + name));
    }

    @Test
    void itReadsEverySection() throws IOException {
        assertSameReading(everySection());
    }

    @Test
    void aSlotWithoutARecordIsSkipped() {
        byte[] file = Golden.resource("golden/snapshots.croft");
        assertThat(kaitai.parse("Croft", file).number("newest.sequence")).isEqualTo(3);
        FileImage.put(file, Refusals.header(file).recordOffset(3), new byte[8]);
        assertThat(kaitai.parse("Croft", file).number("newest.sequence")).isEqualTo(2);
    }

    @Test
    void itKnowsEverySection() throws IOException {
        assertThat(Files.readString(Path.of("croft.ksy"))).contains(
                Arrays.stream(SectionType.values()).map(type -> "type: section(\"" + type + "\")").toList());
    }

    private static void assertSameReading(byte[] file) throws IOException {
        Parsed parsed = kaitai.parse("Croft", file);
        Snapshot newest = Refusals.open(file);
        Parsed commit = parsed.get("newest");
        for (long sequence = newest.commit().sequence(); sequence > 0; sequence--) {
            assertThat(Reading.of(parsed.get("header"), commit)).isEqualTo(Reading.of(newest.openAt(sequence)));
            commit = commit.get("parent");
        }
        assertThat(commit.value()).as("before the first snapshot").isNull();
    }

    @ParameterizedTest
    @MethodSource("croftFiles")
    void itFindsTheBytesOfTheExtents(String name) {
        Parsed index = kaitai.parse("Croft", Golden.resource("golden/" + name)).get("newest.index");
        index.all("extents.records").forEach(extent -> {
            if (extent.get("other_file").value() != null) {
                assertThat(extent.text("other_file.text")).isIn("snapshots.croft", "foreign.safetensors");
            } else if (extent.text("extent_kind").equals("RAW")) {
                assertThat(Digest128.of(MemorySegment.ofArray(extent.bytes("stored_bytes"))))
                        .isEqualTo(extent.digest("digest"));
            } else {
                assertThat(extent.get("stored_bytes").value()).isNull();
            }
        });
    }

    @Test
    void itFindsTheCodedBytesOfExtentsAndTheirReferences() {
        Parsed index = kaitai.parse("Croft", Golden.resource("golden/coded.croft")).get("newest.index");
        assertThat(index.all("codings.records")).hasSizeGreaterThan(3).allSatisfy(coding -> {
            assertThat(Checksums.crc32c(MemorySegment.ofArray(coding.bytes("coded_bytes"))))
                    .isEqualTo(coding.bits("coded_crc32c"));
            boolean isElsewhere = coding.integer("reference_base") > 0;
            if (isElsewhere) {
                assertThat(coding.text("reference_file.text")).isEqualTo("foreign.safetensors");
            }
            if (isElsewhere || coding.text("codec").equals("PLANES")) {
                assertThat(coding.get("reference_bytes").value()).isNull();
            } else {
                assertThat(coding.bytes("reference_bytes")).hasSize(coding.integer("extent.extent_length"));
            }
        });
    }

    @Test
    void itReadsASet() throws IOException {
        byte[] file = Golden.resource("golden/set.croftset");
        Parsed set = kaitai.parse("Croftset", file);

        List<Shard> shards = set.all("shards")
                .map(shard -> new Shard(shard.uuid("shard_uuid"), shard.digest("shard_digest"),
                        shard.number("shard_sequence"), shard.number("shard_length"), shard.text("path")))
                .toList();
        assertThat(new SetManifest(set.uuid("head.set_uuid"), shards, Optional.empty()))
                .isEqualTo(SetManifest.read(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT));
        assertThat(set.number("head.manifest_length")).isEqualTo(file.length);
        assertThat(set.bits("crc32c"))
                .isEqualTo(Checksums.crc32c(MemorySegment.ofArray(file).asSlice(0, file.length - Integer.BYTES)));
    }

    @Test
    void itReadsTheSlicesOfASet() {
        Parsed set = kaitai.parse("Croftset", Golden.resource("golden/slices.croftset"));

        assertThat(set.all("slices.content.values").findFirst().orElseThrow().text("content.text"))
                .isEqualTo("run 7");
    }

    @TestFactory
    List<DynamicTest> everyFieldStandsWhereItsTableSays() throws IOException {
        Parsed file = kaitai.parse("Croft", everySection());
        Parsed set = kaitai.parse("Croftset", Golden.resource("golden/set.croftset"));
        return tables().map(table -> DynamicTest.dynamicTest(table.heading(), () -> {
            Parsed record = record(table.heading().startsWith("9.") ? set : file, title(table));
            assertThat(record.places())
                    .isEqualTo(SpecTablesTest.fields(table).stream().map(KaitaiTest::place).toList());
        })).toList();
    }

    private static Parsed record(Parsed file, String title) {
        assertThat(RECORDS).containsKey(title);
        Parsed found = file.get(RECORDS.get(title));
        return found.value() instanceof List<?> list ? new Parsed(list.getFirst()) : found;
    }

    /// {@return the place of a field, its name written as Java does: `chunk size, log2` is `chunkSizeLog2`}
    private static Parsed.Place place(Field field) {
        String name = field.name().toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "_");
        return new Parsed.Place(Parsed.camelCase(name), field.offset(), field.size());
    }

    /// What the tests above compare is all there is.
    @TestFactory
    List<DynamicTest> noFieldOfARecordChangesUnseen() throws IOException {
        byte[] file = everySection();
        Snapshot snapshot = Refusals.open(file);
        Reading ours = Reading.of(snapshot);
        return tables().filter(table -> !table.heading().startsWith("9.")).map(table -> DynamicTest
                .dynamicTest(table.heading(), () -> {
                    long start = SpecTablesTest.start(table.heading(), snapshot);
                    assertThat(SpecTablesTest.fields(table))
                            .filteredOn(field -> isRead(changed(file, start + field.offset()), ours))
                            .extracting(Field::name).isEqualTo(reserved(table));
                })).toList();
    }

    private static List<String> reserved(SpecTable table) {
        return table.rows().stream().filter(row -> row.contains("reserved")).map(row -> row.get(3)).toList();
    }

    @ParameterizedTest
    @EnumSource(names = {"TREE", "META"})
    void noByteOfATreeChangesUnseen(SectionType section) throws IOException {
        byte[] file = Golden.resource(Golden.FILE);
        Snapshot snapshot = Refusals.open(file);
        Reading ours = Reading.of(snapshot);
        long start = snapshot.index().fileOffset(section, 0);
        assertThat(LongStream.range(start, start + snapshot.index().count(section)))
                .noneMatch(at -> isRead(changed(file, at), ours));
    }

    private static byte[] changed(byte[] file, long at) {
        byte[] changed = file.clone();
        changed[(int) at] ^= 1;
        return changed;
    }

    private static boolean isRead(byte[] file, Reading reading) {
        try {
            Parsed parsed = kaitai.parse("Croft", file);
            return Reading.of(parsed.get("header"), parsed.get("newest")).equals(reading);
        } catch (IllegalArgumentException | ArithmeticException _) {
            return false;
        }
    }

    private static byte[] everySection() {
        return Features.everySection().toByteArray("a message");
    }

    private static Stream<SpecTable> tables() throws IOException {
        return SpecTable.all(Golden.spec(), "offset", "size", "type", "name", "meaning").stream();
    }

    /// {@return the heading of a table without the section's number and the size}
    private static String title(SpecTable table) {
        return table.heading().replaceFirst("^[\\d.]+ ", "").replaceFirst(" \\(.*", "");
    }

    @Test
    void aDescriptionWithAMistakeSaysWhereItIs(@TempDir Path empty) throws IOException {
        Path wrong = empty.resolve("croft.ksy");
        Files.writeString(wrong,
                Files.readString(Path.of("croft.ksy")).replace("type: directory_head", "type: nothing"));
        assertThatThrownBy(() -> Kaitai.compile(wrong, empty)).isInstanceOf(AssertionError.class)
                .hasMessageContaining("/types/index/seq/0").hasMessageContaining("nothing");
    }
}
