package io.undercroft.properties.crash;

/// What goes wrong on a disk: one of the operations that change it fails, or that one and all after it.
///
/// @param failing the number of the operation, from 1
/// @param manner what becomes of the operation
/// @param duration what becomes of those after it
record DiskFault(int failing, Manner manner, Duration duration) {
    /// No operation fails.
    static final DiskFault NONE = new DiskFault(Integer.MAX_VALUE, Manner.NOTHING_DONE, Duration.ONCE);

    /// What becomes of an operation.
    enum Manner {
        /// It fails, and has done nothing.
        NOTHING_DONE,
        /// It fails; a write has written some of its bytes.
        PART_DONE,
        /// A write writes some of its bytes and says so, which is no failure. All else succeeds.
        SHORT
    }

    /// What becomes of the operations after it.
    enum Duration {
        ONCE, FOR_GOOD
    }

    /// {@return whether an operation fails}
    ///
    /// @param number its number, from 1
    boolean hits(int number) {
        return number == failing || (number > failing && duration == Duration.FOR_GOOD);
    }
}
