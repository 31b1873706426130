package io.undercroft.format.internal;

/// The kind of another file that a file references.
public enum BaseKind {
    /// A `.croft` file, recognised by its id.
    CROFT(0),
    /// A file of any format, such as safetensors or GGUF, recognised by its length and digest.
    FOREIGN(1);

    private static final BaseKind[] ALL = values();

    private final int code;

    BaseKind(int code) {
        this.code = code;
    }

    /// {@return the number that stands for it in a file}
    public int code() {
        return code;
    }

    /// {@return the kind that a number in a file stands for}
    ///
    /// @param code the number, of a base that was checked
    /// @throws IndexOutOfBoundsException if this version has no such kind
    public static BaseKind of(int code) {
        return ALL[code];
    }
}
