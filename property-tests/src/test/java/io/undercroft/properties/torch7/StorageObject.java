package io.undercroft.properties.torch7;

import io.undercroft.storage.TypedStorage;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;

/// What Lua holds of a storage: one reference, given back when Lua's garbage is collected. Several of them may hold the
/// same storage.
record StorageObject(StorageClass storageClass, TypedStorage typed) implements LuaObject {
    List<Double> elements() {
        return LongStream.range(0, typed.size()).mapToObj(typed::getDouble).toList();
    }

    void release() {
        if (typed.referenceCount() > 0) {
            typed.free();
        }
    }

    @Override
    public String type() {
        return storageClass.type();
    }

    /// An element if the key is a number or a text that means one, else a method. Lua counts from 1.
    @Override
    public Object get(Object key) {
        Optional<Double> index = LuaValues.toNumber(key);
        return index.isPresent() ? typed.getDouble(position(index.get())) : storageClass.get(key);
    }

    @Override
    public void set(Object key, Object value) {
        double index = LuaValues.toNumber(key)
                .orElseThrow(() -> new LuaError("the class " + type() + " cannot be indexed"));
        StorageClass.writing(typed, LuaArguments.of(this, key, value), 3,
                integer -> typed.setLong(position(index), integer), real -> typed.setDouble(position(index), real));
    }

    @Override
    public double length() {
        return typed.size();
    }

    @Override
    public boolean sameAs(Object other) {
        return other instanceof StorageObject that && typed.untyped() == that.typed.untyped();
    }

    @Override
    public String print() {
        return typed.toTorch7String() + "\n";
    }

    private static long position(double index) {
        return (long) index - 1;
    }
}
