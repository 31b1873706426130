package io.undercroft.properties.documents;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Repository;
import io.undercroft.storage.DType;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/// The element types that the specification of the file format lists are those of tensors in memory.
class SpecElementTypesTest {
    private static final String HEAD = "| element type | bits |\n|---|---|\n";

    @Test
    void theElementTypesOfTheSpecificationAreTheKnownOnes() throws IOException {
        String text = Files.readString(Repository.path("format-spec/SPEC.md"));
        int start = text.indexOf(HEAD) + HEAD.length();
        List<String> rows = Pattern.compile("\\| (\\S+) \\| (\\d+) \\|")
                .matcher(text.substring(start, text.indexOf("\n\n", start)))
                .results().map(MatchResult::group).toList();
        assertThat(rows).containsExactlyElementsOf(
                DType.values().stream().map(dtype -> "| " + dtype.name() + " | " + dtype.bits() + " |").toList());
    }
}
