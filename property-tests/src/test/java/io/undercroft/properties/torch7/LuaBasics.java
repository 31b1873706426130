package io.undercroft.properties.torch7;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/// Lua's own functions, as far as the observed cases use them. What they print is kept to be asked for.
final class LuaBasics {
    private final StringBuilder printed = new StringBuilder();

    void defineIn(LuaInterpreter lua) {
        lua.define("print", LuaFunction.does(arguments -> write(arguments, "\t", "\n")));
        lua.define("io", new LuaTable().with("write", LuaFunction.does(arguments -> write(arguments, "", ""))));
        lua.define("tostring", LuaFunction.of(arguments -> LuaValues.print(arguments.get(1))));
        lua.define("tonumber", LuaFunction.of(arguments -> LuaValues.toNumber(arguments.get(1)).orElse(null)));
        lua.define("rawequal", LuaFunction.of(arguments -> arguments.get(1) == arguments.get(2)));
        lua.define("require", LuaFunction.of(_ -> new LuaTable()));
        lua.define("ipairs", LuaFunction.of(LuaBasics::ipairs));
        lua.define("string", new LuaTable().with("rep",
                LuaFunction.of(arguments -> LuaValues.print(arguments.get(1)).repeat((int) arguments.integer(2)))));
    }

    /// {@return what was printed since this was last asked}
    String takePrinted() {
        String taken = printed.toString();
        printed.setLength(0);
        return taken;
    }

    private void write(LuaArguments arguments, String between, String after) {
        printed.append(
                arguments.values().stream().map(LuaValues::print).collect(Collectors.joining(between, "", after)));
    }

    /// Not an iterator as in Lua, but all its pairs at once; loops expect that.
    private static Object ipairs(LuaArguments arguments) {
        List<Object> elements = arguments.object(1, LuaTable.class, "table").elements();
        List<LuaTable> pairs = new ArrayList<>();
        for (int i = 0; i < elements.size() && elements.get(i) != null; i++) {
            pairs.add(LuaTable.array(List.of((double) (i + 1), elements.get(i))));
        }
        return LuaTable.array(pairs);
    }
}
