package io.undercroft.mmap.internal;

import io.undercroft.mmap.ReadAdvice;

/// Adapts the read-ahead of the system in the mapping of a whole file.
///
/// When a page is not in memory, the system reads megabytes around it (`read_ahead_kb`). That suits programs that use
/// the parts of a file one after the other, and costs others milliseconds for each of the few kilobytes that they need.
/// So at first only what is used is requested, each part as a whole. As soon as parts are used in the order of the
/// file, or a large one, or more than a few, the system reads ahead as usual: requesting each of many small parts takes
/// longer than reading all of them.
///
/// Safe for any thread.
public final class ReadAhead {
    /// The largest part that is requested as a whole, in bytes.
    private static final long SMALL = 1L << 20;
    /// The number of parts that are requested.
    private static final int FEW = 8;
    /// The most bytes between two parts that are in order.
    private static final long GAP = 1L << 16;

    private final long size;
    private final Advisor advisor;
    private int parts;
    private long end;
    private boolean isUsual;

    /// Gives advice on a part of a mapping.
    @FunctionalInterface
    public interface Advisor {
        /// Gives advice.
        ///
        /// @param offset the first byte
        /// @param length the number of bytes
        /// @param advice the advice
        void advise(long offset, long length, ReadAdvice advice);
    }

    /// A mapping of which no byte was used. Small files are read as usual.
    ///
    /// @param size its size in bytes
    /// @param advisor gives advice on it
    public ReadAhead(long size, Advisor advisor) {
        this.size = size;
        this.advisor = advisor;
        this.isUsual = size <= SMALL;
        if (!isUsual) {
            advisor.advise(0, size, ReadAdvice.RANDOM);
        }
    }

    /// Prepares the use of a part.
    ///
    /// @param offset its first byte
    /// @param length the number of its bytes
    public synchronized void use(long offset, long length) {
        if (isUsual) {
            return;
        }
        boolean isNext = parts > 0 && offset >= end && offset - end < GAP;
        parts++;
        end = offset + length;
        if (isNext || length > SMALL || parts > FEW) {
            isUsual = true;
            advisor.advise(0, size, ReadAdvice.NORMAL);
        } else {
            advisor.advise(offset, length, ReadAdvice.WILL_NEED);
        }
    }
}
