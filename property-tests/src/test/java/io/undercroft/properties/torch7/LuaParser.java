package io.undercroft.properties.torch7;

import io.undercroft.properties.torch7.Lua.Expression;
import io.undercroft.properties.torch7.Lua.Statement;
import io.undercroft.properties.torch7.LuaLexer.Kind;
import io.undercroft.properties.torch7.LuaLexer.Token;
import java.util.ArrayList;
import java.util.List;

/// Reads a line as Lua's prompt does: as expressions to show if it can be read so, else as statements.
final class LuaParser {
    /// Operators of two operands, those that bind weakest first.
    private static final List<List<String>> LEVELS = List.of(List.of("=="), List.of(".."), List.of("+", "-"),
            List.of("*", "/"));

    private final List<Token> tokens;
    private int next;

    private LuaParser(String line) {
        this.tokens = LuaLexer.cut(line);
    }

    static List<Statement> parse(String line) {
        try {
            LuaParser parser = new LuaParser(line);
            List<Expression> shown = parser.expressions();
            parser.end();
            return List.of(new Lua.Return(shown));
        } catch (LuaError notExpressions) {
            LuaParser parser = new LuaParser(line);
            List<Statement> statements = parser.statements();
            parser.end();
            return statements;
        }
    }

    private List<Statement> statements() {
        List<Statement> statements = new ArrayList<>();
        while (!peek().is("end") && peek().kind() != Kind.END) {
            statements.add(statement());
            accept(";");
        }
        return statements;
    }

    private Statement statement() {
        if (accept("return")) {
            return new Lua.Return(expressions());
        }
        if (accept("for")) {
            return loop();
        }
        // All variables live as long as the line's names can be used, so that local ones need no care.
        accept("local");
        List<Expression> left = expressions();
        if (accept("=")) {
            left.forEach(this::checkAssignable);
            return new Lua.Assignment(left, expressions());
        }
        Expression only = left.getFirst();
        if (left.size() != 1 || !(only instanceof Lua.Call || only instanceof Lua.MethodCall)) {
            throw unexpected();
        }
        return new Lua.Evaluation(only);
    }

    private Statement loop() {
        List<String> names = new ArrayList<>();
        do {
            names.add(name());
        } while (accept(","));
        expect("in");
        Expression iterated = expression();
        expect("do");
        List<Statement> body = statements();
        expect("end");
        return new Lua.Loop(names, iterated, body);
    }

    private List<Expression> expressions() {
        List<Expression> expressions = new ArrayList<>();
        do {
            expressions.add(expression());
        } while (accept(","));
        return expressions;
    }

    private Expression expression() {
        return binary(0);
    }

    private Expression binary(int level) {
        if (level == LEVELS.size()) {
            return unary();
        }
        Expression left = binary(level + 1);
        while (LEVELS.get(level).stream().anyMatch(peek()::is)) {
            left = new Lua.Binary(take().text(), left, binary(level + 1));
        }
        return left;
    }

    private Expression unary() {
        if (peek().is("-") || peek().is("#")) {
            return new Lua.Unary(take().text(), unary());
        }
        Expression base = suffixed();
        return accept("^") ? new Lua.Binary("^", base, unary()) : base;
    }

    private Expression suffixed() {
        Expression value = primary();
        while (true) {
            if (accept(".")) {
                value = new Lua.Index(value, new Lua.Literal(name()));
            } else if (accept("[")) {
                value = new Lua.Index(value, expression());
                expect("]");
            } else if (accept(":")) {
                value = new Lua.MethodCall(value, name(), arguments());
            } else if (startsArguments()) {
                value = new Lua.Call(value, arguments());
            } else {
                return value;
            }
        }
    }

    private boolean startsArguments() {
        return peek().is("(") || peek().is("{") || peek().kind() == Kind.TEXT;
    }

    /// `(a, b)`, or one table or text without brackets.
    private List<Expression> arguments() {
        if (!peek().is("(")) {
            return List.of(primary());
        }
        expect("(");
        List<Expression> arguments = peek().is(")") ? List.of() : expressions();
        expect(")");
        return arguments;
    }

    private Expression primary() {
        Token token = take();
        return switch (token.kind()) {
            case NUMBER -> new Lua.Literal(Numbers.parse(token.text()));
            case TEXT -> new Lua.Literal(token.text());
            case NAME -> named(token.text());
            case SYMBOL -> bracketed(token);
            case END -> throw unexpected();
        };
    }

    private static Expression named(String word) {
        return switch (word) {
            case "nil" -> new Lua.Literal(null);
            case "true", "false" -> new Lua.Literal(Boolean.valueOf(word));
            default -> new Lua.Name(word);
        };
    }

    private Expression bracketed(Token open) {
        if (open.is("(")) {
            Expression inside = expression();
            expect(")");
            return inside;
        }
        if (open.is("{")) {
            List<Expression> elements = peek().is("}") ? List.of() : expressions();
            expect("}");
            return new Lua.Table(elements);
        }
        throw unexpected();
    }

    private void checkAssignable(Expression target) {
        if (!(target instanceof Lua.Name || target instanceof Lua.Index)) {
            throw unexpected();
        }
    }

    private Token peek() {
        return tokens.get(next);
    }

    private Token take() {
        return tokens.get(next++);
    }

    private boolean accept(String symbol) {
        boolean there = peek().is(symbol);
        if (there) {
            next++;
        }
        return there;
    }

    private void expect(String symbol) {
        if (!accept(symbol)) {
            throw unexpected();
        }
    }

    private String name() {
        if (peek().kind() != Kind.NAME) {
            throw unexpected();
        }
        return take().text();
    }

    private void end() {
        if (peek().kind() != Kind.END) {
            throw unexpected();
        }
    }

    private LuaError unexpected() {
        Token at = tokens.get(Math.min(next, tokens.size() - 1));
        return new LuaError("unexpected '" + at.text() + "'");
    }
}
