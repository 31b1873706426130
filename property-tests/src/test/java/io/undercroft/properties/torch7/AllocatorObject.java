package io.undercroft.properties.torch7;

import io.undercroft.storage.Allocator;

/// What Lua holds of an allocator.
record AllocatorObject(Allocator allocator) implements LuaObject {
    @Override
    public String type() {
        return "torch.Allocator";
    }
}
