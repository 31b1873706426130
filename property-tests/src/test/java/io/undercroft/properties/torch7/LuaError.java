package io.undercroft.properties.torch7;

/// What Lua itself refuses before any library is asked: a text that is no Lua, or an argument of the wrong type, which
/// in Java would not compile.
final class LuaError extends RuntimeException {
    private static final long serialVersionUID = 1;

    LuaError(String message) {
        super(message);
    }
}
