package io.undercroft.properties.faults;

/// What a call does instead of what it was asked for.
public enum FaultKind {
    /// It fails with an I/O error.
    IO_ERROR("an I/O error"),
    /// There is no memory: an array, native memory or a mapping is refused.
    OUT_OF_MEMORY("out of memory"),
    /// The thread that called the library is interrupted just before.
    INTERRUPT("an interrupt"),
    /// A signal arrives, which ends a call of the C library before it has done anything.
    SIGNAL("a signal"),
    /// It reads or writes fewer bytes.
    SHORT("a short read or write");

    private final String text;

    FaultKind(String text) {
        this.text = text;
    }

    /// {@return whether nobody must notice, since the rest of the work can be done}
    boolean isAbsorbed() {
        return this == SIGNAL || this == SHORT;
    }

    @Override
    public String toString() {
        return text;
    }
}
