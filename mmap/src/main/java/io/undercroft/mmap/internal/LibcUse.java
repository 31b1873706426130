package io.undercroft.mmap.internal;

/// Whether this process has bound [Libc]. That takes tens of milliseconds, so what can be done without native calls is
/// done without them before. (Any use of that class binds it.)
public final class LibcUse {
    private static volatile boolean begun;

    private LibcUse() {}

    /// {@return whether libc is bound, or was tried to bind}
    public static boolean hasBegun() {
        return begun;
    }

    static void begin() {
        begun = true;
    }
}
