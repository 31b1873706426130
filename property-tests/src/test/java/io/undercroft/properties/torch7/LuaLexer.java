package io.undercroft.properties.torch7;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/// Cuts a line of Lua into words.
final class LuaLexer {
    enum Kind {
        NAME, SYMBOL, NUMBER, TEXT, END
    }

    /// One word; the text of a [Kind#TEXT] is what it stands for, one `char` per byte.
    record Token(Kind kind, String text) {
        boolean is(String symbol) {
            return kind != Kind.TEXT && text.equals(symbol);
        }
    }

    private static final Pattern WORD = Pattern.compile("""
            \\s*(?:
              (?<name>[A-Za-z_]\\w*)
            | (?<number>0[xX][0-9a-fA-F]+|(?:\\d+(?:\\.(?!\\.)\\d*)?|\\.\\d+)(?:[eE][-+]?\\d+)?)
            | "(?<double>(?:[^"\\\\]|\\\\.)*)"
            | '(?<single>(?:[^'\\\\]|\\\\.)*)'
            | \\[\\[(?<long>.*?)\\]\\]
            | (?<symbol>\\.\\.|==|[-+*/^\\#=.,;:(){}\\[\\]])
            | (?<end>$)
            )""", Pattern.COMMENTS | Pattern.DOTALL);
    private static final Pattern ESCAPE = Pattern.compile("\\\\(?:(\\d{1,3})|(.))", Pattern.DOTALL);
    private static final Map<String, String> ESCAPED = Map.of("n", "\n", "t", "\t", "r", "\r");

    private LuaLexer() {}

    /// The words of a line, ended by one of [Kind#END].
    static List<Token> cut(String line) {
        List<Token> tokens = new ArrayList<>();
        Matcher word = WORD.matcher(line);
        while (word.lookingAt()) {
            Token token = token(word);
            tokens.add(token);
            if (token.kind() == Kind.END) {
                return tokens;
            }
            word.region(word.end(), line.length());
        }
        throw new LuaError("cannot read '" + line.substring(word.regionStart()) + "'");
    }

    private static Token token(Matcher word) {
        if (word.group("name") != null) {
            return new Token(Kind.NAME, word.group("name"));
        }
        if (word.group("number") != null) {
            return new Token(Kind.NUMBER, word.group("number"));
        }
        if (word.group("double") != null) {
            return new Token(Kind.TEXT, unescape(word.group("double")));
        }
        if (word.group("single") != null) {
            return new Token(Kind.TEXT, unescape(word.group("single")));
        }
        if (word.group("long") != null) {
            return new Token(Kind.TEXT, word.group("long"));
        }
        return word.group("symbol") != null ? new Token(Kind.SYMBOL, word.group("symbol")) : new Token(Kind.END, "");
    }

    private static String unescape(String quoted) {
        return ESCAPE.matcher(quoted).replaceAll(escape -> Matcher.quoteReplacement(escape.group(1) != null
                ? Character.toString(Integer.parseInt(escape.group(1)))
                : ESCAPED.getOrDefault(escape.group(2), escape.group(2))));
    }
}
