package io.undercroft.format;

/// How the bytes of an extent are kept. The numbers 2 (FOREIGN), 3 (CODED) and 4 (DELTA) are reserved; files that have
/// them are refused.
public enum ExtentKind {
    /// As they are, in this file.
    RAW(0),
    /// Not at all: they are all zero.
    ZERO(1);

    private final int code;

    ExtentKind(int code) {
        this.code = code;
    }

    /// {@return the number that stands for it in a file}
    public int code() {
        return code;
    }
}
