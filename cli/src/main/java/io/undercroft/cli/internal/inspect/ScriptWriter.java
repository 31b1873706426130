package io.undercroft.cli.internal.inspect;

import java.io.FilterWriter;
import java.io.IOException;
import java.io.Writer;

/// Writes JSON so that it can be in a `script` element of a page, and counts it. Each `<` is written as an escape: in
/// JSON it is in texts only, and no end of the element and no comment is without one.
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
