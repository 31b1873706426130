package io.undercroft.mmap;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/// A parser of the text of a handle: `undercroft:HOME/NAME?key=value&key=value`. Each key that is read is removed, so
/// that unknown keys remain at the end.
///
/// Texts are not trusted. They are short, numbers have digits only, and they are parsed to strings only.
final class HandleText {
    static final String SCHEME = "undercroft:";

    private static final int SHOWN = 80;
    private static final int MAX_LENGTH = 1 << 16;

    private final String text;
    private final String place;
    private final Map<String, String> values = new HashMap<>();

    private HandleText(String text) {
        this.text = text;
        if (text.length() > MAX_LENGTH) {
            throw wrong("it has " + text.length() + " characters and may have " + MAX_LENGTH);
        }
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(text)) {
            throw wrong("it has half of a surrogate pair, which is no text");
        }
        int question = text.indexOf('?');
        if (!text.startsWith(SCHEME) || question < 0) {
            throw wrong("it has to look like " + SCHEME + "shm/NAME?nbytes=4096&id=123");
        }
        this.place = text.substring(SCHEME.length(), question);
        for (String pair : text.substring(question + 1).split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals <= 0 || values.put(pair.substring(0, equals), pair.substring(equals + 1)) != null) {
                throw wrong("'" + pair + "' is no key=value, or its key is there twice");
            }
        }
    }

    /// @throws IllegalArgumentException if it does not look like one
    static HandleText of(String text) {
        return new HandleText(text);
    }

    /// {@return a text with everything percent-encoded that is not for names}
    static String encoded(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    String decoded(String name) {
        try {
            return URLDecoder.decode(name.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw wrong("'" + name + "' is not percent-encoded well");
        }
    }

    /// {@return what is before the slash}
    String home() {
        return place.substring(0, Math.max(0, place.indexOf('/')));
    }

    /// {@return what is behind the home, from the slash on}
    String path() {
        return place.substring(home().length());
    }

    Optional<String> take(String key) {
        return Optional.ofNullable(values.remove(key));
    }

    String need(String key) {
        return take(key).orElseThrow(() -> wrong("it has no " + key));
    }

    /// {@return numbers that are separated by commas, none if there is nothing}
    List<Long> numbers(String key, String list) {
        return list.isEmpty()
                ? List.of()
                : Arrays.stream(list.split(",", -1)).map(each -> number(key, each)).collect(Collectors.toList());
    }

    /// {@return a number from 0 on}
    long number(String key, String digits) {
        try {
            if (digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
                return Long.parseLong(digits);
            }
        } catch (NumberFormatException _) {
            // Empty, or too large.
        }
        throw wrong("the " + key + " '" + digits + "' is no number from 0 to 2^63-1");
    }

    /// Looks that everything was taken.
    void end() {
        if (!values.isEmpty()) {
            throw wrong("the key " + values.keySet().iterator().next() + " is unknown");
        }
    }

    /// {@return the exception for a text that is no handle}
    ///
    /// @param what what is wrong with it, without a full stop
    IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("'" + shown(text, SHOWN) + "' is no handle: " + shown(what, 2 * SHOWN)
                + "; hand over what toString() of a handle gives");
    }

    private static String shown(String text, int length) {
        String start = text.length() > length ? text.substring(0, length) + "…" : text;
        return start.replaceAll("\\p{Cntrl}", "?");
    }
}
