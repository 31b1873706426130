package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GlobTest {
    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', value = {"model/*.weight, model/fc.weight", "model/*.weight, model/.weight",
            "*, wte", "*, \"\"", "**, \"\"", "**, a/b/c", "**/c, c", "**/c, a/b/c", "a/**, a/b/c", "a/**, a",
            "a/**/c, a/c", "a/**/c, a/b/b/c", "**/b/**/d, a/b/x/b/y/d", "h.?.w, h.7.w", "a*b*c, a-b-b-c",
            "\\*, *", "a\\?, a?", "\\\\, \\", "\\, \\", "a~1b/*, a~1b/c", "*a, aaaa", "?, \ud83d\ude00", "a**b, a--b",
            "params/**, params~1Dense_0~1kernel", "params/*/kernel, params~1Dense_0~1kernel", "a~b/*, a~0b/c",
            "*, a~1b"})
    void matches(String pattern, String name) {
        assertThat(Glob.parse(pattern)).accepts(name);
    }

    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', value = {"model/*.weight, model/head/fc.weight", "model/*.weight, model/fc.bias",
            "*, a/b", "?, \"\"", "\"\", a", "**/c, a/b", "a/**, b", "a/**/c, a/b", "h.?.w, h.12.w", "\\*, a",
            "a, A", "a**b, a/b", "a*b, a", "**/b/**/d, a/d/b"})
    void doesNotMatch(String pattern, String name) {
        assertThat(Glob.parse(pattern)).rejects(name);
    }

    @Test
    void manyStarsTakeNoTime() {
        Glob glob = Glob.parse("**/" + "*a".repeat(500) + "b/**/".repeat(200) + "x");
        String name = ("a".repeat(1000) + "/").repeat(4);
        assertTimeoutPreemptively(Duration.ofMinutes(5), () -> assertThat(glob).rejects(name));
    }
}
