package io.undercroft.format.internal;

/// The way in which the bytes of an extent are stored.
public enum ExtentKind {
    /// As they are, in this file or in another `.croft` file.
    RAW(0),
    /// Not at all: they are all zero.
    ZERO(1),
    /// As they are, at any offset of a file of any format.
    FOREIGN(2),
    /// In fewer bytes, in this file or in another `.croft` file, as its [Coding] says.
    CODED(3);

    private static final ExtentKind[] ALL = values();

    private final int code;

    ExtentKind(int code) {
        this.code = code;
    }

    /// {@return the number that stands for it in a file}
    public int code() {
        return code;
    }

    /// {@return the kind that a number in a file stands for}
    ///
    /// @param code the number, of an extent that was checked
    /// @throws IndexOutOfBoundsException if this version has no such kind
    public static ExtentKind of(int code) {
        return ALL[code];
    }
}
