package io.undercroft.interop.torch7;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// The elements of a `tds.Vec` while it is read.
final class LuaVector extends LuaValue {
    private final List<@Nullable Object> parts = new ArrayList<>();
    private final List<@Nullable Object> made = new ArrayList<>();
    private final int count;

    /// @param count how many elements it is said to have
    LuaVector(int count) {
        this.count = count;
    }

    @Override
    void take(@Nullable Object part, long offset) {
        parts.add(part);
    }

    @Override
    boolean isWhole() {
        return parts.size() == count;
    }

    @Override
    Object made() {
        return made;
    }

    @Override
    void fill() {
        parts.forEach(part -> made.add(made(part)));
    }
}
