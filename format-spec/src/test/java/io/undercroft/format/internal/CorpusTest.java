package io.undercroft.format.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class CorpusTest {
    static Stream<Map.Entry<String, byte[]>> files() {
        return Corpus.files().entrySet().stream();
    }

    @ParameterizedTest
    @MethodSource("files")
    void eachFileIsRefusedOrReportedByItsRuleAlone(Map.Entry<String, byte[]> file) throws IOException {
        assertThat(verdict(file.getKey(), file.getValue())).containsExactly(ruleOf(file.getKey()));
    }

    @ParameterizedTest
    @MethodSource("files")
    void theFilesThatAreKeptAreThose(Map.Entry<String, byte[]> file) throws IOException {
        assertThat(Files.readAllBytes(Corpus.FOLDER.resolve(file.getKey()))).isEqualTo(file.getValue());
    }

    @Test
    void noOtherFilesAreKept() throws IOException {
        try (Stream<Path> kept = Files.list(Corpus.FOLDER)) {
            assertThat(kept.map(path -> path.getFileName().toString())).containsExactlyInAnyOrderElementsOf(
                    Corpus.files().keySet());
        }
    }

    @Test
    void everyRuleHasAFile() {
        assertThat(Corpus.files().keySet().stream().map(CorpusTest::ruleOf).collect(Collectors.toSet()))
                .containsExactlyInAnyOrderElementsOf(Stream.of(Rule.values()).map(Rule::code).toList());
    }

    /// The rule that a file is refused by, or those of the damage that is found in it.
    private static Set<String> verdict(String name, byte[] file) throws IOException {
        Folder folder = new Folder(Corpus.FOLDER);
        try {
            if (name.endsWith(".croftset")) {
                SetManifest set = SetManifest.read(ByteSource.of(MemorySegment.ofArray(file)), Limits.DEFAULT);
                for (Shard shard : set.shards()) {
                    shard.open(folder.source(shard.path(), Rule.V21_SHARD), Limits.DEFAULT);
                }
                set.index().ifPresent(index -> index.check(set.shards()));
                return Set.of();
            }
            List<Finding> damages = Refusals.verify(file, folder).findings();
            return damages.stream().map(damage -> damage.rule().code()).collect(Collectors.toSet());
        } catch (FormatException e) {
            return Set.of(e.code());
        }
    }

    private static String ruleOf(String name) {
        return name.substring(0, name.indexOf('.')).toUpperCase(Locale.ROOT);
    }
}
