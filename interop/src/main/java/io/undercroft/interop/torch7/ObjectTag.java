package io.undercroft.interop.torch7;

/// The numbers that objects begin with.
final class ObjectTag {
    static final int NIL = 0;
    static final int NUMBER = 1;
    static final int STRING = 2;
    static final int TABLE = 3;
    static final int TORCH = 4;
    static final int BOOLEAN = 5;
    /// Functions of before 2014, which had no index.
    static final int OLD_FUNCTION = 6;
    /// Functions of 2014 and 2015.
    static final int RECURSIVE_OLD_FUNCTION = 7;
    static final int FUNCTION = 8;

    private ObjectTag() {}

    /// {@return whether the number of the object follows}
    static boolean isNumbered(int tag) {
        return switch (tag) {
            case TABLE, TORCH, RECURSIVE_OLD_FUNCTION, FUNCTION -> true;
            default -> false;
        };
    }

    static boolean isFunction(long tag) {
        return tag == OLD_FUNCTION || tag == RECURSIVE_OLD_FUNCTION || tag == FUNCTION;
    }
}
