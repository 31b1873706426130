package io.undercroft.http.internal;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// The value of a header `Content-Range`.
///
/// @param first the first byte, or -1 if the server has none of the range
/// @param last the last byte, or -1
/// @param size the size of the file in bytes, or -1 if the server does not give it
record ContentRange(long first, long last, long size) {
    private static final Pattern FORM = Pattern.compile("bytes (?:(\\d{1,18})-(\\d{1,18})|\\*)/(\\d{1,18}|\\*)");

    /// {@return the parsed value, or nothing if it is malformed}
    ///
    /// @param text the value
    static Optional<ContentRange> parse(String text) {
        Matcher form = FORM.matcher(text.strip());
        if (!form.matches()) {
            return Optional.empty();
        }
        long first = form.group(1) == null ? -1 : Long.parseLong(form.group(1));
        long last = form.group(2) == null ? -1 : Long.parseLong(form.group(2));
        long size = form.group(3).equals("*") ? -1 : Long.parseLong(form.group(3));
        boolean isValid = first <= last && (size < 0 || last < size);
        return isValid ? Optional.of(new ContentRange(first, last, size)) : Optional.empty();
    }
}
