package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.internal.index.Field;
import io.undercroft.format.internal.index.Index;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.Records.CommitFields;
import io.undercroft.format.internal.index.Records.SectionFields;
import io.undercroft.format.internal.index.Records.DirectoryFields;
import io.undercroft.format.internal.index.Records.HeaderFields;
import io.undercroft.format.internal.index.Records.ManifestFields;
import io.undercroft.format.internal.index.Records.ShardFields;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/// The tables of `SPEC.md`, held against the code: who writes a reader from them writes the right one.
class SpecTablesTest {
    private static final Pattern SIZED = Pattern.compile("(?<title>.*) \\((?<size>\\d+) bytes\\)");
    @TestFactory
    List<DynamicTest> theCodeHasTheFieldsOfEachTable() throws IOException {
        return SpecTable.all(Golden.spec(), "offset", "size", "type", "name", "meaning").stream()
                .map(table -> DynamicTest.dynamicTest(table.heading(), () -> {
                    Matcher sized = SIZED.matcher(table.heading());
                    assertThat(sized.matches()).as("the heading says how many bytes there are").isTrue();
                    RecordLayout record = record(sized.group("title").replaceFirst("^[\\d.]+ ", ""));
                    assertThat(fields(table)).isEqualTo(record.fields());
                    assertThat(Integer.parseInt(sized.group("size"))).isEqualTo(record.size());
                })).toList();
    }

    private static RecordLayout record(String title) {
        return switch (title) {
            case "Header" -> HeaderFields.RECORD;
            case "Commit record" -> CommitFields.RECORD;
            case "Directory head" -> DirectoryFields.RECORD;
            case "Directory entry" -> SectionFields.RECORD;
            case "Head of a set" -> ManifestFields.RECORD;
            case "Shard" -> ShardFields.RECORD;
            default -> SectionType.valueOf(title.substring(0, 4)).record();
        };
    }

    @Test
    void theSectionsAreThoseOfTheTable() throws IOException {
        List<List<String>> rows = SpecTable.one(Golden.spec(), "section", "record size", "wider allowed",
                "must be there", "flags", "content").rows();
        assertThat(rows).extracting(row -> row.subList(0, 5))
                .containsExactlyElementsOf(Arrays.stream(SectionType.values())
                        .map(type -> List.of(type.name(), Integer.toString(type.recordSize()), yes(type.isWidenable()),
                                yes(type.isRequired()), Integer.toString(type.flags())))
                        .toList());
    }

    private static String yes(boolean is) {
        return is ? "yes" : "no";
    }

    @Test
    void theRulesAreThoseOfTheTable() throws IOException {
        List<List<String>> rows = SpecTable.one(Golden.spec(), "code", "when", "rule", "corpus file").rows();
        assertThat(rows).extracting(List::getFirst).containsExactlyElementsOf(
                Arrays.stream(Rule.values()).map(Rule::code).toList());
        assertThat(rows).allSatisfy(row -> {
            assertThat(row.get(1)).isIn("opening", "use", "verifying");
            assertThat(row.get(3)).startsWith(row.getFirst().toLowerCase(Locale.ROOT) + ".croft");
        });
    }

    @Test
    void theDefaultLimitsAreThoseOfTheTable() throws IOException {
        Limits limits = Limits.DEFAULT;
        Map<String, Long> named = new HashMap<>();
        named.put("index without ISUM", limits.maxIndexBytes());
        named.put("index with ISUM, of which a reader need hold no more than it uses", limits.maxSummedIndexBytes());
        named.put("tensors, and names", (long) limits.maxTensors());
        named.put("extents, storages, strings", (long) Integer.MAX_VALUE);
        named.put("element types, which have numbers of 16 bits in TENS", (long) Limits.MAX_DTYPES);
        named.put("rank", (long) limits.maxRank());
        named.put("sections", (long) limits.maxSections());
        named.put("bases", (long) limits.maxBases());
        named.put("depth of bases", (long) limits.maxBaseDepth());
        named.put("depth of the state tree (containers open at once)", (long) limits.maxDepth());
        named.put("a name, string, element type or path hint", (long) limits.maxNameBytes());
        named.put("a message", (long) CommitRecord.MAX_MESSAGE_BYTES);
        named.put("storages beyond the committed length", limits.maxExpansion());
        named.put("snapshots walked when listing", (long) limits.maxSnapshots());
        named.put("shards of a set", (long) limits.maxShards());
        named.put("set manifest", limits.maxManifestBytes());
        Map<String, Long> specified = new HashMap<>();
        SpecTable.one(Golden.spec(), "what", "limit").rows()
                .forEach(row -> specified.put(row.get(0), number(row.get(1))));
        assertThat(specified).isEqualTo(named);
    }

    private static long number(String text) {
        Matcher number = Pattern.compile("(2\\^)?([\\d ]*\\d)( − 1)?( bytes| MiB| GiB)?").matcher(text);
        assertThat(number.matches()).as(text).isTrue();
        long value = Long.parseLong(number.group(2).replace(" ", ""));
        value = number.group(1) == null ? value : 1L << value;
        value = number.group(3) == null ? value : value - 1;
        return switch (number.group(4)) {
            case " MiB" -> value << 20;
            case " GiB" -> value << 30;
            case null, default -> value;
        };
    }

    @Test
    void theFeatureBitsAreThoseOfTheTable() throws IOException {
        assertThat(SpecTable.one(Golden.spec(), "field", "bit", "name", "meaning").rows()).singleElement()
                .satisfies(row -> assertThat(row.subList(0, 3)).containsExactly("read-only-compatible features",
                        Long.toString(Header.SEALED), "SEALED"));
    }

    @Test
    void theCodecsAreThoseOfTheTable() throws IOException {
        assertThat(SpecTable.one(Golden.spec(), "codec", "name", "coded bytes").rows())
                .extracting(row -> row.subList(0, 2)).containsExactly(
                        List.of(Integer.toString(Coding.PLANES), "PLANES"),
                        List.of(Integer.toString(Coding.DIFFERENCE), "DIFFERENCE"));
        assertThat(Golden.spec()).contains("at most " + Coding.MOST_RATIO + " bytes for each of them");
    }

    /// {@return the fields that a table has}
    static List<Field> fields(SpecTable table) {
        return table.rows().stream()
                .map(row -> new Field(row.get(3), Integer.parseInt(row.get(0)), Integer.parseInt(row.get(1)))).toList();
    }

    /// {@return where in the file the first record of a table starts}
    static long start(String heading, Snapshot snapshot) {
        String title = heading.replaceFirst("^[\\d.]+ ", "");
        if (title.startsWith("Header")) {
            return 0;
        }
        if (title.startsWith("Commit record")) {
            return snapshot.place();
        }
        if (title.startsWith("Directory head")) {
            return snapshot.commit().indexOffset();
        }
        if (title.startsWith("Directory entry")) {
            return snapshot.commit().indexOffset() + Index.HEAD_BYTES;
        }
        return snapshot.index().fileOffset(SectionType.valueOf(title.substring(0, 4)), 0);
    }
}
