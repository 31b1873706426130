package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/// What is told to formats has to mean something to one of them.
class SettingsTest {
    @TempDir
    Path folder;

    private Path file;
    private final Tensor few = Tensor.of((byte) 1, (byte) 2, (byte) 3).view(DType.UINT8);

    @BeforeEach
    void saveAFile() throws IOException {
        file = folder.resolve("some.raw");
        Checkpoint.save(file, few);
    }

    private ThrowingCallable opening(String setting) {
        return () -> Checkpoint.open(file, OpenOptions.defaults().setting(setting, "yes")).close();
    }

    private ThrowingCallable exporting(String setting) {
        return () -> Checkpoint.save(folder.resolve("other.raw"), few,
                SaveOptions.defaults().setting(setting, "yes"));
    }

    @Test
    void aMisspeltNameIsRefusedWithTheNearOne() {
        assertThatThrownBy(opening("raw.reversd")).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("there is no setting 'raw.reversd' for opening files; did you mean 'raw.reversed'?");
        assertThatThrownBy(exporting("raw.paded")).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("there is no setting 'raw.paded' for writing files; did you mean 'raw.padded'?");
        assertThat(folder).isDirectoryNotContaining("glob:**other*");
    }

    @Test
    void aNameOfTheOtherDirectionIsRefusedAndThisIsSaid() {
        assertThatThrownBy(opening("raw.padded")).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the setting 'raw.padded' is for writing files, not for opening files");
        assertThatThrownBy(exporting("raw.reversed")).isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the setting 'raw.reversed' is for opening files, not for writing files");
        assertThatThrownBy(opening("raw.paded")).hasMessage("there is no setting 'raw.paded' for opening files; "
                + "did you mean 'raw.padded'? It is for writing files");
    }

    @Test
    void aNameThatIsNearNoneIsAnsweredWithThoseThatThereAre() {
        assertThatThrownBy(opening("")).isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("there are croft.cache, croft.cacheMiB, raw.reversed");
        assertThatThrownBy(exporting("nonsense")).isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("there are folder.fails, raw.padded");
    }

    @Test
    void whatAnotherFormatKnowsIsNoFault() throws IOException {
        Path croft = folder.resolve("some.croft");
        Checkpoint.save(croft, Map.of("w", few));

        try (Checkpoint c = Checkpoint.open(croft, OpenOptions.defaults().setting("raw.reversed", "yes"))) {
            assertThat(c.names()).containsExactly("w");
        }
    }

    @Test
    void whatIsToldOfABaseIsLookedAtToo() throws IOException {
        Path thin = folder.resolve("thin.croft");
        OpenOptions wrong = OpenOptions.defaults().setting("raw.reversd", "yes");

        assertThatThrownBy(
                () -> Checkpoint.save(thin, Map.of("w", few), SaveOptions.defaults().base(file, wrong)))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("did you mean 'raw.reversed'");

        assertThat(thin).doesNotExist();
    }

    @Test
    void aSettingThatDoesNotApplyToTheFileIsRefused() {
        Path index = folder.resolve("some.rawset");

        assertThatThrownBy(() -> Checkpoint.save(index, Map.of("a.raw", few),
                SaveOptions.defaults().setting("raw.padded", "yes"))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'raw.padded' does not apply to files of raw-set; it is for those of raw");

        assertThat(index).doesNotExist();
    }

    @Test
    void whatIsToldIsDone() throws IOException {
        Checkpoint.save(file, few, SaveOptions.defaults().setting("raw.padded", "yes"));

        assertThat(file).hasSize(16);
    }
}
