package io.undercroft.properties.torch7;

import io.undercroft.properties.torch7.Lua.Expression;
import io.undercroft.properties.torch7.Lua.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/// Carries out lines of Lua. It knows the language and its variables; what the names mean is given to it.
final class LuaInterpreter {
    private final Map<String, Object> variables = new HashMap<>();

    void define(String name, Object value) {
        variables.put(name, value);
    }

    /// Carries out a line.
    ///
    /// @return what it returns, or, if it is only expressions, their values
    List<Object> run(String line) {
        return run(LuaParser.parse(line));
    }

    /// {@return the objects that can still be reached from a variable}
    Set<Object> reachable() {
        Set<Object> reached = Collections.newSetFromMap(new IdentityHashMap<>());
        List<Object> open = new ArrayList<>(variables.values());
        while (!open.isEmpty()) {
            if (open.removeLast() instanceof LuaObject object && reached.add(object)) {
                open.addAll(object.references());
            }
        }
        return reached;
    }

    private List<Object> run(List<Statement> statements) {
        for (Statement statement : statements) {
            switch (statement) {
                case Lua.Return(List<Expression> values) -> {
                    return all(values);
                }
                case Lua.Evaluation(Expression call) -> all(call);
                case Lua.Assignment assignment -> assign(assignment);
                case Lua.Loop loop -> repeat(loop);
            }
        }
        return List.of();
    }

    private void assign(Lua.Assignment assignment) {
        LuaArguments values = new LuaArguments(all(assignment.values()));
        for (int i = 0; i < assignment.targets().size(); i++) {
            Object value = values.get(i + 1);
            switch (assignment.targets().get(i)) {
                case Lua.Name(String name) -> variables.put(name, value);
                case Lua.Index(Expression table, Expression key) -> object(one(table)).set(one(key), value);
                case Expression other -> throw new LuaError("cannot assign to " + other);
            }
        }
    }

    /// A loop over what `ipairs` gives: a table of tables, one for each turn.
    private void repeat(Lua.Loop loop) {
        for (Object turn : ((LuaTable) one(loop.iterated())).elements()) {
            List<Object> values = ((LuaTable) turn).elements();
            for (int i = 0; i < loop.names().size(); i++) {
                variables.put(loop.names().get(i), values.get(i));
            }
            run(loop.body());
        }
    }

    /// The values of all expressions; of those that have several, all count only at the end of the list.
    private List<Object> all(List<Expression> expressions) {
        List<Object> values = new ArrayList<>();
        for (Expression expression : expressions.subList(0, Math.max(expressions.size() - 1, 0))) {
            values.add(one(expression));
        }
        if (!expressions.isEmpty()) {
            values.addAll(all(expressions.getLast()));
        }
        return values;
    }

    private List<Object> all(Expression expression) {
        return switch (expression) {
            case Lua.Call(Expression function, List<Expression> arguments) ->
                object(one(function)).call(new LuaArguments(all(arguments)));
            case Lua.MethodCall(Expression receiver, String method, List<Expression> arguments) ->
                callMethod(one(receiver), method, all(arguments));
            default -> Arrays.asList(one(expression));
        };
    }

    private List<Object> callMethod(Object receiver, String method, List<Object> arguments) {
        if (!(object(receiver).get(method) instanceof LuaFunction function)) {
            throw new LuaError("attempt to call method '" + method + "' (a nil value)");
        }
        List<Object> withReceiver = new ArrayList<>(List.of(receiver));
        withReceiver.addAll(arguments);
        return function.call(new LuaArguments(withReceiver));
    }

    private Object one(Expression expression) {
        return switch (expression) {
            case Lua.Literal(Object value) -> value;
            case Lua.Name(String name) -> variables.get(name);
            case Lua.Index(Expression table, Expression key) -> object(one(table)).get(one(key));
            case Lua.Table(List<Expression> elements) -> LuaTable.array(all(elements));
            case Lua.Unary unary -> unary(unary);
            case Lua.Binary binary -> binary(binary);
            case Lua.Call call -> new LuaArguments(all(call)).get(1);
            case Lua.MethodCall call -> new LuaArguments(all(call)).get(1);
        };
    }

    private Object unary(Lua.Unary unary) {
        Object operand = one(unary.operand());
        return switch (unary.operator()) {
            case "-" -> -LuaArguments.of(operand).number(1);
            case "#" -> object(operand).length();
            default -> throw new LuaError("no operator " + unary.operator());
        };
    }

    private Object binary(Lua.Binary binary) {
        LuaArguments operands = LuaArguments.of(one(binary.left()), one(binary.right()));
        return switch (binary.operator()) {
            case "==" -> LuaValues.equal(operands.get(1), operands.get(2));
            case ".." -> text(operands, 1) + text(operands, 2);
            case "+" -> operands.number(1) + operands.number(2);
            case "-" -> operands.number(1) - operands.number(2);
            case "*" -> operands.number(1) * operands.number(2);
            case "/" -> operands.number(1) / operands.number(2);
            case "^" -> Math.pow(operands.number(1), operands.number(2));
            default -> throw new LuaError("no operator " + binary.operator());
        };
    }

    private static String text(LuaArguments operands, int number) {
        return LuaValues.toText(operands.get(number)).orElseThrow(() -> operands.bad(number, "string expected"));
    }

    private static LuaObject object(Object value) {
        if (value instanceof LuaObject object) {
            return object;
        }
        throw new LuaError("attempt to index a " + LuaValues.type(value) + " value");
    }
}
