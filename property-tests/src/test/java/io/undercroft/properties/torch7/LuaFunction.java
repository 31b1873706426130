package io.undercroft.properties.torch7;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/// A function of Lua that Java carries out.
@FunctionalInterface
interface LuaFunction extends LuaObject {
    @Override
    List<Object> call(LuaArguments arguments);

    /// A function of one value, which may be nil.
    static LuaFunction of(Function<LuaArguments, Object> body) {
        return arguments -> Arrays.asList(body.apply(arguments));
    }

    /// A function of no value.
    static LuaFunction does(Consumer<LuaArguments> body) {
        return arguments -> {
            body.accept(arguments);
            return List.of();
        };
    }

    @Override
    default String type() {
        return "function";
    }
}
