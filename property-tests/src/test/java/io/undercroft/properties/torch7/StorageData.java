package io.undercroft.properties.torch7;

import io.undercroft.storage.TypedStorage;

/// LuaJIT's pointer to the elements of a storage of integers, which counts from 0.
record StorageData(TypedStorage typed) implements LuaObject {
    @Override
    public String type() {
        return "cdata";
    }

    @Override
    public Object get(Object key) {
        return new Int64(typed.getLong((long) LuaArguments.of(key).number(1)));
    }

    /// LuaJIT's integer of 64 bits.
    record Int64(long value) implements LuaObject {
        @Override
        public String type() {
            return "cdata";
        }

        @Override
        public String print() {
            return value + "LL";
        }
    }
}
