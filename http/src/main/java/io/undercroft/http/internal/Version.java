package io.undercroft.http.internal;

import java.net.http.HttpHeaders;
import java.util.Optional;

/// The version of a file on a server.
///
/// @param size its size in bytes
/// @param tag the entity tag, if the server gives one
/// @param modified the time of the last change as the server writes it, if it does
record Version(long size, Optional<String> tag, Optional<String> modified) {
    private static final String WEAK = "W/";

    static Version of(long size, HttpHeaders headers) {
        return new Version(size, headers.firstValue("ETag"), headers.firstValue("Last-Modified"));
    }

    /// {@return whether a response may be of this version} Tags are compared where both have one, else times.
    ///
    /// @param headers those of the response
    boolean matches(HttpHeaders headers) {
        return matches(of(size, headers));
    }

    /// {@return whether another one may be this version} The sizes are not compared.
    ///
    /// @param other the other one
    boolean matches(Version other) {
        if (tag.isPresent() && other.tag.isPresent()) {
            return strong(tag.get()).equals(strong(other.tag.get()));
        }
        return modified.isEmpty() || other.modified.isEmpty() || modified.equals(other.modified);
    }

    /// {@return whether another version of the same size would be noticed}
    boolean isKnown() {
        return tag.isPresent() || modified.isPresent();
    }

    private static String strong(String tag) {
        return tag.startsWith(WEAK) ? tag.substring(WEAK.length()) : tag;
    }

    /// {@return the value of a header `If-Range` for this version, if it has a tag that permits one}
    Optional<String> ifRange() {
        return tag.filter(text -> !text.startsWith(WEAK));
    }
}
