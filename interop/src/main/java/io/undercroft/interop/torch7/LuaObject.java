package io.undercroft.interop.torch7;

import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// An object of a class that is written in Lua, while it is read.
final class LuaObject extends LuaValue {
    private final String className;
    private final Number version;
    private @Nullable Object body;
    private boolean isWhole;
    private @Nullable Object made;

    /// @param className the name of its class
    /// @param version that of its class
    LuaObject(String className, Number version) {
        this.className = className;
        this.version = version;
    }

    String className() {
        return className;
    }

    /// Takes what the object holds: a table of its fields, or what [TdsClass] says.
    @Override
    void take(@Nullable Object part, long offset) {
        body = part;
        isWhole = true;
    }

    @Override
    boolean isWhole() {
        return isWhole;
    }

    @Override
    Object made() {
        if (made == null) {
            String type = Nodes.PREFIX + className;
            made = fields() != null ? new TypedMap(type) : new Typed(type, null);
        }
        return made;
    }

    /// {@return the fields, if a map can hold them}
    private @Nullable LuaTable fields() {
        return body instanceof LuaTable table && table.isMap() ? table : null;
    }

    @Override
    void fill() {
        LuaTable fields = fields();
        if (made() instanceof TypedMap map && fields != null) {
            fields.fill(map);
            setVersion(map.attributes());
        } else if (made() instanceof Typed typed) {
            typed.value(made(body));
            setVersion(typed.attributes());
        }
    }

    private void setVersion(SequencedMap<String, @Nullable Object> attributes) {
        if (!version.equals(Nodes.usualVersion(className))) {
            attributes.put(Nodes.VERSION, version);
        }
    }
}
