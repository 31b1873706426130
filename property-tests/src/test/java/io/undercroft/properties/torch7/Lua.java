package io.undercroft.properties.torch7;

import java.util.List;

/// The part of Lua's grammar that the observed cases use.
final class Lua {
    private Lua() {}

    /// What has a value; a call has any number of them.
    sealed interface Expression {}

    /// A number, a text, a boolean or nil.
    record Literal(Object value) implements Expression {}

    record Name(String name) implements Expression {}

    record Index(Expression table, Expression key) implements Expression {}

    record Call(Expression function, List<Expression> arguments) implements Expression {}

    /// `object:method(…)`, which passes the object as the first argument.
    record MethodCall(Expression object, String method, List<Expression> arguments) implements Expression {}

    /// `{a, b, c}`
    record Table(List<Expression> elements) implements Expression {}

    record Unary(String operator, Expression operand) implements Expression {}

    record Binary(String operator, Expression left, Expression right) implements Expression {}

    /// What is done.
    sealed interface Statement {}

    record Assignment(List<Expression> targets, List<Expression> values) implements Statement {}

    /// A call whose values nobody wants.
    record Evaluation(Expression call) implements Statement {}

    record Loop(List<String> names, Expression iterated, List<Statement> body) implements Statement {}

    record Return(List<Expression> values) implements Statement {}
}
