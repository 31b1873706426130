package io.undercroft.interop.torch7;

import org.jspecify.annotations.Nullable;

/// A table, a vector, an object or a function, while the file is read. What it becomes in the state depends on all that
/// it holds; but that may refer back to it. So its parts are collected first, and when all of the file has been read it
/// is made and then filled.
abstract sealed class LuaValue permits LuaTable, LuaVector, LuaObject, LuaFunction {
    /// Takes the next part.
    ///
    /// @param part another one of these, or what is in the state for the part
    /// @param offset where the part begins in the file
    /// @throws io.undercroft.format.FormatException if it cannot be there
    abstract void take(@Nullable Object part, long offset);

    /// {@return whether all parts have been taken}
    abstract boolean isWhole();

    /// {@return what stands for it in the state: always the same object}
    abstract Object made();

    /// Puts the parts into what was made.
    abstract void fill();

    /// {@return what is in the state for a part}
    static @Nullable Object made(@Nullable Object part) {
        return part instanceof LuaValue value ? value.made() : part;
    }
}
