package io.undercroft.cli.internal.inspect;

import java.io.FilterWriter;
import java.io.IOException;
import java.io.Writer;

/// Writes JSON that can be the content of a `script` element of a page, and counts its characters. Each `<` is escaped:
/// in JSON it occurs only in strings, and the end of the element and comments cannot occur without it.
final class ScriptWriter extends FilterWriter {
    private static final String ESCAPED = "\\u003c";

    private long written;

    ScriptWriter(Writer out) {
        super(out);
    }

    /// {@return the number of characters so far}
    long written() {
        return written;
    }

    @Override
    public void write(int character) throws IOException {
        if (character == '<') {
            out.write(ESCAPED);
        } else {
            out.write(character);
        }
        written++;
    }

    @Override
    public void write(char[] characters, int from, int length) throws IOException {
        int start = from;
        for (int at = from; at < from + length; at++) {
            if (characters[at] == '<') {
                out.write(characters, start, at - start);
                out.write(ESCAPED);
                start = at + 1;
            }
        }
        out.write(characters, start, from + length - start);
        written += length;
    }

    @Override
    public void write(String text, int from, int length) throws IOException {
        write(text.toCharArray(), from, length);
    }
}
