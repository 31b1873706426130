package io.undercroft.format;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FormatExceptionTest {
    @Test
    void theMessageIsOneLineThatSaysWhatWhereAndWhatToDo() {
        assertThat(new FormatException("V4-EXTENT-SUM", "it does not add up", 0x1A2B, "Save it again"))
                .hasMessage("it does not add up (at byte 0x1A2B) [V4-EXTENT-SUM]. Save it again");
    }

    @Test
    void aFaultWithoutAPlaceDoesNotNameOne() {
        assertThat(new FormatException("X-Y", "it is wrong", FormatException.NO_OFFSET, "Give up"))
                .hasMessage("it is wrong [X-Y]. Give up");
    }

    @Test
    void namingTheFileKeepsEverythingElse() {
        Throwable cause = new IllegalStateException("because");
        FormatException nameless = new FormatException("X-Y", "it is wrong", 16, "Give up", cause);
        FormatException named = nameless.withFile("a\nb.croft");

        assertThat(named).hasMessage("a\\u{a}b.croft: it is wrong (at byte 0x10) [X-Y]. Give up").hasCause(cause);
        assertThat(named.getStackTrace()).isEqualTo(nameless.getStackTrace());
        assertThat(named.file()).isEqualTo("a\nb.croft");
        assertThat(nameless.file()).isNull();
    }

    @Test
    void aFileThatWasNamedStaysNamed() {
        FormatException named = new FormatException("X-Y", "it is wrong", 16, "Give up").withFile("base.croft");
        assertThat(named.withFile("other.croft")).isSameAs(named);
    }

    @Test
    void quotedTextCannotBreakTheLineOrTheTerminal() {
        assertThat(FormatException.quote("a\u001B[31m\u202Eb\r\n\uD800é😀")).isEqualTo(
                "'a\\u{1b}[31m\\u{202e}b\\u{d}\\u{a}\\u{d800}é😀'");
    }

    @Test
    void longTextIsShortenedAtAWholeCharacter() {
        assertThat(FormatException.quote("😀".repeat(80))).isEqualTo("'" + "😀".repeat(80) + "'");
        assertThat(FormatException.quote("😀".repeat(81))).isEqualTo("'" + "😀".repeat(80) + "…'");
    }
}
