package io.undercroft.mmap.internal;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HexFormat;

/// Paths and their bytes. A `String` made of a path loses the bytes that the locale cannot express, and a path cannot
/// be made of characters that it cannot express; the URI of a path can do both.
public final class HostPath {
    private HostPath() {}

    /// {@return the path whose bytes are a text in UTF-8, in any locale}
    ///
    /// @param text an absolute path
    public static Path of(String text) {
        StringBuilder uri = new StringBuilder("file://");
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if (b == '/' || (b >= 'a' && b <= 'z') || (b >= '0' && b <= '9')) {
                uri.append((char) b);
            } else {
                uri.append('%').append(HexFormat.of().toHexDigits(b));
            }
        }
        return Path.of(URI.create(uri.toString()));
    }

    /// {@return the last name of a path, of whose bytes those that are no UTF-8 are lost}
    ///
    /// @param path the path, which has a name
    static String name(Path path) {
        byte[] bytes = bytes(path);
        String text = new String(bytes, 0, bytes.length - 1, StandardCharsets.UTF_8);
        // The URI of a directory has a slash at its end.
        String plain = text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
        return plain.substring(plain.lastIndexOf('/') + 1);
    }

    /// {@return the bytes of an absolute path, unchanged, and a terminating zero}
    ///
    /// @param path the path
    static byte[] bytes(Path path) {
        byte[] uri = path.toAbsolutePath().toUri().getRawPath().getBytes(StandardCharsets.US_ASCII);
        ByteArrayOutputStream name = new ByteArrayOutputStream(uri.length + 1);
        for (int i = 0; i < uri.length; i++) {
            if (uri[i] == '%') {
                name.write((HexFormat.fromHexDigit(uri[i + 1]) << 4) | HexFormat.fromHexDigit(uri[i + 2]));
                i += 2;
            } else {
                name.write(uri[i]);
            }
        }
        name.write(0);
        return name.toByteArray();
    }
}
