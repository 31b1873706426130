package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TextTest {
    @ParameterizedTest
    @CsvSource({"0,0 B", "1023,1023 B", "1024,1.0 KiB", "1048523,1023.9 KiB", "1048575,1.0 MiB",
            "1088,1.1 KiB", "1638400,1.6 MiB", "9223372036854775807,8.0 EiB"})
    void bytesAreToldInTheLargestUnitThatFits(long nbytes, String text) {
        assertThat(Text.bytes(nbytes)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"0,0", "65536,65536", "64K,65536", "64 KiB,65536", "1m,1048576", "1GB,1073741824",
            "999999999G,1073741822926258176"})
    void sizesAreReadAsPeopleWriteThem(String text, long nbytes) {
        assertThat(Text.parseBytes(text)).hasValue(nbytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "K", "-1", "1.5M", "1T", "1 000", "9999999999", "٣"})
    void whatIsNoSizeIsNotGuessed(String text) {
        assertThat(Text.parseBytes(text)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0,3,0.0 %", "1,3,33.3 %", "2,3,66.7 %", "3,3,100.0 %", "1,100000,< 0.1 %"})
    void partsAreToldInPercent(long part, long whole, String text) {
        assertThat(Text.percent(part, whole)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"0,0 tensors", "1,1 tensor", "2,2 tensors"})
    void countsHaveAPlural(long count, String text) {
        assertThat(Text.count(count, "tensor")).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {"999;999 bytes", "1000;1,000 bytes", "1234567;1,234,567 bytes",
            "9223372036854775807;9,223,372,036,854,775,807 bytes"})
    void bigCountsAreGrouped(long count, String text) {
        assertThat(Text.count(count, "byte")).isEqualTo(text);
    }

    @Test
    void controlAndInvisibleCharactersAreEscaped() {
        assertThat(FormatException.printable("é漢 ok")).isEqualTo("é漢 ok");
        assertThat(FormatException.printable("a\u001b[0m\n\u202e\ud800"))
                .isEqualTo("a\\u{1b}[0m\\u{a}\\u{202e}\\u{d800}");
    }

    @Test
    void textIsCutBetweenCharacters() {
        assertThat(Text.shortened("abcdef", 6)).isEqualTo("abcdef");
        assertThat(Text.shortened("abcdefg", 6)).isEqualTo("abcde…");
        assertThat(Text.shortened("😀😀😀", 2)).isEqualTo("😀…");
    }
}
