package io.undercroft.interop.torch7;

import io.undercroft.serializer.state.Typed;
import org.jspecify.annotations.Nullable;

/// A function while it is read. It is carried as bytes, and nobody looks into them.
final class LuaFunction extends LuaValue {
    private final Typed made;
    private @Nullable Object upvalues;
    private boolean isWhole;

    /// @param tag what it begins with
    /// @param bytecode its bytes
    LuaFunction(int tag, byte[] bytecode) {
        this.made = new Typed(Nodes.FUNCTION, bytecode);
        made.attributes().put(Nodes.TAG, (long) tag);
    }

    @Override
    void take(@Nullable Object part, long offset) {
        upvalues = part;
        isWhole = true;
    }

    @Override
    boolean isWhole() {
        return isWhole;
    }

    @Override
    Object made() {
        return made;
    }

    @Override
    void fill() {
        made.attributes().put(Nodes.UPVALUES, made(upvalues));
    }
}
