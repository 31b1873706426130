package io.undercroft.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/// All texts in the sources that name a method of the library or an option of the command: what they name exists, and
/// for each method there is a test that does what is advised. A new one has to be added here, with its test.
class CatalogueOfRemediesTest {
    private static final Path TREE = Path.of("..");
    private static final List<String> MODULES = List.of("format-spec", "storage-core", "mmap", "serializer", "interop",
            "hadoop", "http", "adapters", "cuda", "spark", "cli");
    private static final Pattern TEXT = Pattern.compile("\"((?:[^\"\\\\\n]|\\\\.)*)\"");
    private static final Pattern METHOD = Pattern.compile("\\b([A-Z]\\w+)\\.([a-z]\\w+)");
    private static final Pattern OPTION = Pattern.compile("(?<![\\w-])--[a-z][a-z-]+");

    /// Methods that texts name, and the test that calls each for what the text says.
    private static final Map<String, String> TRIED = Map.ofEntries(
            Map.entry("Allocator.offHeap", "TypedStorageTest"),
            Map.entry("AnonymousMemory.allocator", "AnonymousMemoryTest"),
            Map.entry("AnonymousMemory.freezableAllocator", "FreezableMemoryTest"),
            Map.entry("Checkpoint.loadMatching", "LoadIntoTest"),
            Map.entry("Checkpoint.save", "CheckpointTest"),
            Map.entry("Checkpoint.tensor", "CheckpointTest"),
            Map.entry("Checkpoint.value", "CheckpointTest"),
            Map.entry("CroftFile.compact", "GrowingFileTest"),
            Map.entry("CroftFile.newest", "GrowingFileTest"),
            Map.entry("CroftFile.salvage", "SalvageTest"),
            Map.entry("DType.values", "DTypeTest"),
            Map.entry("OpenOptions.base", "BasesTest"),
            Map.entry("OpenOptions.classes", "EvolutionTest"),
            Map.entry("OpenOptions.device", "DeviceLoadingTest"),
            Map.entry("OpenOptions.devices", "DeviceLoadingTest"),
            Map.entry("OpenOptions.format", "FoundFormatsTest"),
            Map.entry("OpenOptions.inMemory", "InMemoryTest"),
            Map.entry("OpenOptions.only", "SubsetTest"),
            Map.entry("OpenOptions.root", "ReferencedFilesTest"),
            Map.entry("OpenOptions.setting", "TorchLegacyFormatTest"),
            Map.entry("OpenOptions.strict", "StrictTest"),
            Map.entry("OpenOptions.temporaryDirectory", "HttpCheckpointTest"),
            Map.entry("PublishedCheckpoint.attach", "PublishedCheckpointTest"),
            Map.entry("SaveOptions.dtype", "ElementsOfFormatsTest"),
            Map.entry("SaveOptions.format", "OwnNamesTest"),
            Map.entry("SaveOptions.largest", "ElementsOfFormatsTest"),
            Map.entry("SaveOptions.leavingOutUnreadable", "UnreadableTensorsTest"),
            Map.entry("SaveOptions.replacingSource", "ReferencedFilesTest"),
            Map.entry("SaveOptions.root", "ReferencedFilesTest"),
            Map.entry("SaveReport.locations", "SaveToStoreTest"),
            Map.entry("ShardSet.loadMatching", "SetLoadTest"),
            Map.entry("StateClasses.defaulting", "EvolutionTest"),
            Map.entry("StateClasses.formerly", "EvolutionTest"),
            Map.entry("StateClasses.ignoringUnknown", "EvolutionTest"),
            Map.entry("StateClasses.of", "EvolutionTest"),
            Map.entry("StateClasses.upgrading", "EvolutionTest"),
            Map.entry("Storage.meta", "UntypedStorageTest"),
            Map.entry("Storage.wrap", "NativeMemoryTest"),
            Map.entry("Tensor.to", "ElementsOfFormatsTest"));
    /// Options of other programs, of the JVM, and of the jobs of undercroft-spark.
    private static final Set<String> FOREIGN = Set.of("--enable-native-access", "--sun-misc-unsafe-memory-access",
            "--gpus", "--shm-size", "--ulimit", "--merge", "--glob", "--keep-suffix", "--overwrite");

    private static Stream<Path> sources(String kind) {
        return MODULES.stream().map(module -> TREE.resolve(module).resolve("src").resolve(kind).resolve("java"))
                .filter(Files::isDirectory).flatMap(CatalogueOfRemediesTest::files);
    }

    private static Stream<Path> files(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(file -> file.toString().endsWith(".java")).toList().stream();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static Stream<String> texts() {
        return sources("main").flatMap(file -> TEXT
                .matcher(read(file).lines().filter(line -> !line.strip().startsWith("///"))
                        .collect(Collectors.joining("\n")))
                .results().map(text -> text.group(1)));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String simpleName(Path file) {
        return file.getFileName().toString().replace(".java", "");
    }

    @Test
    void everyMethodThatATextNamesExistsAndIsTriedByATest() throws ClassNotFoundException {
        Map<String, String> types = sources("main").filter(file -> !file.toString().contains("internal"))
                .collect(Collectors.toMap(CatalogueOfRemediesTest::simpleName,
                        file -> file.toString().replaceFirst(".*src/main/java/", "").replace(".java", "")
                                .replace('/', '.'),
                        (one, _) -> one));
        Map<String, Path> tests = sources("test")
                .collect(Collectors.toMap(CatalogueOfRemediesTest::simpleName, file -> file, (one, _) -> one));
        TreeMap<String, MatchResult> named = new TreeMap<>();
        texts().flatMap(text -> METHOD.matcher(text).results()).filter(method -> types.containsKey(method.group(1)))
                .forEach(method -> named.put(method.group(), method));

        assertThat(named.keySet()).isEqualTo(new TreeSet<>(TRIED.keySet()));
        for (MatchResult method : named.values()) {
            assertThat(Class.forName(types.get(method.group(1))).getMethods()).as(method.group())
                    .anyMatch(each -> each.getName().equals(method.group(2)));
            assertThat(read(tests.get(TRIED.get(method.group())))).as(method.group())
                    .contains("." + method.group(2) + "(");
        }
    }

    @Test
    void everyOptionThatATextNamesExists() {
        Set<String> options = OPTION.matcher(Invocation.of("completion").out()).results().map(MatchResult::group)
                .collect(Collectors.toSet());
        assertThat(options).contains("--root", "--to-set", "--published");

        assertThat(texts().filter(text -> text.contains(" ")).flatMap(text -> OPTION.matcher(text).results())
                .map(MatchResult::group).filter(option -> !FOREIGN.contains(option)).collect(Collectors.toSet()))
                .isSubsetOf(options);
    }
}
