package io.undercroft.interop.torch7;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.interop.torch7.Files7.Fixture;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Every file that real Torch7 wrote holds what its description says, and can be written again.
class FixtureFilesTest {
    /// Files that we write in another way, and why.
    private static final Map<String, String> WRITTEN_OTHERWISE = Map.of(
            "legacy-version0", "storages of no version are written with version 1",
            "sparse-indices", "objects are numbered from 1 without gaps",
            "boolean-int-2", "false is written as 0");

    /// Files that say too little to be taken for files of Torch7.
    private static final Set<String> LONE_VALUES = Set.of("nil", "true", "false", "boolean-int-2");

    @TempDir
    private Path folder;

    static List<Fixture> fixtures() {
        return Files7.fixtures();
    }

    @ParameterizedTest
    @MethodSource("fixtures")
    void theEncodingIsFoundOrToldAndTheStateIsTheDescribedOne(Fixture fixture) throws IOException {
        OpenOptions found = OpenOptions.defaults();
        for (OpenOptions each : List.of(found, fixture.told(), found.inMemory().mapping(MapMode.READ_ONLY))) {
            Files7.open(fixture.path(), each,
                    contents -> new Comparison().compare(fixture.json().get("value"), contents.state()));
        }
    }

    @ParameterizedTest
    @MethodSource("fixtures")
    void onMetaEverythingButTheElementsIsThere(Fixture fixture) throws IOException {
        Files7.open(fixture.path(), OpenOptions.defaults().onMeta(), contents -> {
            assertThat(contents.storages()).allMatch(Storage::isMeta);
            Files7.open(fixture.path(), mapped -> {
                assertThat(contents.names()).containsExactlyElementsOf(mapped.names());
                assertThat(contents.storages().stream().map(Storage::nbytes).toList())
                        .isEqualTo(mapped.storages().stream().map(Storage::nbytes).toList());
            });
        });
    }

    @ParameterizedTest
    @MethodSource("fixtures")
    void whatIsMoreThanALoneValueIsRecognised(Fixture fixture) throws IOException {
        String name = fixture.json().get("name").asText();
        boolean isLone = LONE_VALUES.contains(name) || name.startsWith("string-");
        assertThat(Files7.matches(fixture.path())).isEqualTo(!isLone);
    }

    @ParameterizedTest
    @MethodSource("fixtures")
    void writtenAgainTheFileHasTheSameBytes(Fixture fixture) throws IOException {
        Files7.open(fixture.path(), fixture.told(), contents -> {
            byte[] written = Files7.written(contents.state(), fixture.asked());
            boolean otherwise = WRITTEN_OTHERWISE.containsKey(fixture.json().get("name").asText());
            assertThat(HexFormat.of().formatHex(written).equals(hex(fixture.path()))).isEqualTo(!otherwise);
            if (otherwise) {
                Path again = Files.write(folder.resolve("again.t7"), written);
                Files7.open(again, fixture.told(), copy -> assertThat(
                        Files7.written(copy.state(), fixture.asked())).isEqualTo(written));
            }
        });
    }

    static List<Fixture> usualFixtures() {
        return fixtures().stream().filter(fixture -> fixture.name().contains(".bin.")).toList();
    }

    @ParameterizedTest
    @MethodSource("usualFixtures")
    void aCroftFileKeepsAllThatTorch7Has(Fixture fixture) throws IOException {
        Path croft = folder.resolve("kept.croft");
        Files7.open(fixture.path(), contents -> {
            Checkpoint.save(croft, contents.state(), SaveOptions.defaults().wholeStorages());
            try (Checkpoint c = Checkpoint.open(croft)) {
                assertThat(Files7.written(c.state())).isEqualTo(Files7.written(contents.state()));
            }
        });
    }

    @Test
    void allFilesAreDescribed() throws IOException {
        try (var files = Files.list(Files7.FIXTURES)) {
            assertThat(fixtures().stream().map(Fixture::path).toList())
                    .containsExactlyInAnyOrderElementsOf(
                            files.filter(path -> path.toString().endsWith(".t7")).toList());
        }
        assertThat(fixtures()).hasSizeGreaterThan(200);
    }

    @Test
    void theSameValueIsTheSameInEveryEncoding() throws IOException {
        for (JsonNode json : fixtures().stream().map(Fixture::json).distinct().toList()) {
            List<byte[]> images = new ArrayList<>();
            for (JsonNode entry : json.get("files")) {
                Fixture fixture = new Fixture(json, entry);
                Files7.open(fixture.path(), fixture.told(), contents -> images.add(Files7.written(contents.state())));
            }
            assertThat(images).as(json.get("name").asText()).allMatch(image -> Arrays.equals(image, images.getFirst()));
        }
    }

    @Test
    void wholeStoragesAreMappedWhereTheyStand() throws IOException {
        Path path = Files7.FIXTURES.resolve("storage-double-10000.bin.t7");
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            var contents = new Torch7Format().open(file, OpenOptions.defaults());
            Storage storage = contents.storages().getFirst();
            long place = contents.extents(storage, file).getFirst().offset();
            byte[] there = new byte[(int) storage.nbytes()];
            file.read(place, MemorySegment.ofArray(there));
            assertThat(storage.segment().toArray(ValueLayout.JAVA_BYTE)).isEqualTo(there);
        }
    }

    private static String hex(Path path) throws IOException {
        return HexFormat.of().formatHex(Files.readAllBytes(path));
    }

    /// A walk through a description and a state.
    private static final class Comparison {
        private final Map<Integer, Object> byId = new HashMap<>();

        void compare(JsonNode expected, Object actual) {
            if (expected.has("id") && !expected.get("type").asText().equals("ref")) {
                byId.put(expected.get("id").asInt(), actual);
            }
            switch (expected.get("type").asText()) {
                case "nil" -> assertThat(actual).isNull();
                case "boolean" -> assertThat(actual).isEqualTo(expected.get("value").asBoolean());
                case "number" -> assertThat(hex(bits(actual))).isEqualTo(expected.get("leBits").asText());
                case "string" -> assertThat(hex(string(actual))).isEqualTo(expected.get("hex").asText());
                case "ref" -> assertSame(byId.get(expected.get("id").asInt()), actual);
                case "table" -> entries(expected, actual);
                case "object" -> {
                    assertThat(((TypedMap) actual).type()).isEqualTo("torch7:" + expected.get("class").asText());
                    long version = expected.get("version").asLong();
                    assertThat(((TypedMap) actual).attributes())
                            .isEqualTo(version == 1 ? Map.of() : Map.of("version", version));
                    entries(expected, actual);
                }
                case "storage" -> storage(expected, ((TypedStorage) actual).untyped());
                case "tensor" -> tensor(expected, (Tensor) actual);
                case "function" -> function(expected, (Typed) actual);
                case "generator" -> assertThat((byte[]) ((Typed) actual).value()).hasSize(5048);
                default -> throw new AssertionError(expected);
            }
        }

        private static void assertSame(Object first, Object second) {
            if (first instanceof TypedStorage typed) {
                assertThat(((TypedStorage) second).untyped()).isSameAs(typed.untyped());
            } else if (first instanceof Storage untyped) {
                assertThat(((TypedStorage) second).untyped()).isSameAs(untyped);
            } else {
                assertThat(second == first).isTrue();
            }
        }

        private void entries(JsonNode expected, Object actual) {
            List<Object[]> entries = new ArrayList<>();
            if (actual instanceof Typed table) {
                assertThat(table.type()).isEqualTo("torch7:table");
                ((List<?>) table.value()).forEach(pair -> entries.add(((List<?>) pair).toArray()));
            } else {
                ((Map<?, ?>) actual).forEach((key, value) -> entries.add(new Object[]{key, value}));
            }
            assertThat(entries).hasSize(expected.get("entries").size());
            for (JsonNode pair : expected.get("entries")) {
                Object[] entry = entries.stream().filter(each -> isKey(pair.get(0), each[0])).findFirst().orElseThrow();
                entries.remove(entry);
                compare(pair.get(0), entry[0]);
                compare(pair.get(1), entry[1]);
            }
        }

        /// Descriptions have the entries in the order of their keys; a table has none.
        private static boolean isKey(JsonNode expected, Object key) {
            return switch (expected.get("type").asText()) {
                case "number" -> key instanceof Number && hex(bits(key)).equals(expected.get("leBits").asText());
                case "string" -> key instanceof String && hex(string(key)).equals(expected.get("hex").asText());
                default -> !(key instanceof Number || key instanceof String);
            };
        }

        private static void storage(JsonNode expected, Storage actual) {
            assertThat(hex(actual.segment().toArray(ValueLayout.JAVA_BYTE))).isEqualTo(expected.get("leHex").asText());
        }

        private void tensor(JsonNode expected, Tensor actual) {
            boolean isNothing = expected.get("dim").asInt() == 0;
            assertThat(actual.shape().toArray()).isEqualTo(isNothing ? new long[1] : longs(expected.get("size")));
            if (!isNothing) {
                assertThat(actual.stride()).isEqualTo(longs(expected.get("stride")));
            }
            assertThat(actual.storageOffset()).isEqualTo(expected.get("storageOffset1").asLong() - 1);
            JsonNode storage = expected.get("storage");
            TypedStorage typed = new TypedStorage(actual.storage(), actual.dtype());
            assertThat("torch." + typed.typeName().replace("Storage", "Tensor"))
                    .isEqualTo(expected.get("class").asText());
            if (storage.get("type").asText().equals("nil")) {
                assertThat(actual.storage().segment().byteSize()).isZero();
            } else {
                compare(storage, typed);
            }
            assertThat(hex(actual.contiguous().bytes().toArray(ValueLayout.JAVA_BYTE)))
                    .isEqualTo(expected.get("logicalLeHex").asText());
        }

        private void function(JsonNode expected, Typed actual) {
            assertThat(actual.type()).isEqualTo("torch7:function");
            assertThat((byte[]) actual.value()).startsWith(0x1B, 'L', 'J');
            assertThat(actual.attributes()).containsEntry("tag", 8L);
            List<?> upvalues = List.copyOf(((Map<?, ?>) actual.attributes().get("upvalues")).values());
            assertThat(upvalues).hasSize(expected.get("upvalues").size());
            for (int i = 0; i < upvalues.size(); i++) {
                JsonNode upvalue = expected.get("upvalues").get(i);
                assertThat(((Map<?, ?>) upvalues.get(i)).get("name")).isEqualTo(upvalue.get("name").asText());
                compare(upvalue.get("value"), ((Map<?, ?>) upvalues.get(i)).get("value"));
            }
        }

        private static long[] longs(JsonNode array) {
            return array.valueStream().mapToLong(JsonNode::asLong).toArray();
        }

        /// Keys that are whole numbers are longs in a state.
        private static byte[] bits(Object number) {
            long bits = Double.doubleToRawLongBits(((Number) number).doubleValue());
            return ByteBuffer.allocate(8).putLong(Long.reverseBytes(bits)).array();
        }

        private static byte[] string(Object text) {
            return text instanceof byte[] bytes ? bytes : Utf8.encode((String) text).orElseThrow();
        }

        private static String hex(byte[] bytes) {
            return HexFormat.of().formatHex(bytes);
        }
    }
}
