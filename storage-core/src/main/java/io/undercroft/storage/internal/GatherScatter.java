package io.undercroft.storage.internal;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// Gathers elements that are a step apart to a run in an array, and scatters such a run. All steps are in bytes.
///
/// The arrays are of bytes for elements of any type: a copy between a segment and an array of bytes is the fastest one
/// of a short run in JDK 25. There is a loop for each width of an element, which differs from the others only in a
/// primitive type, which cannot be a type parameter. The loops add up the step, because the JIT compiles multiplication
/// by a variable factor to slow code.
///
/// @param itemsize bytes of an element
record GatherScatter(int itemsize) {
    private static final VarHandle SHORTS = MethodHandles.byteArrayViewVarHandle(short[].class, LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, LITTLE_ENDIAN);
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, LITTLE_ENDIAN);

    /// Gathers elements of a segment to the start of an array.
    ///
    /// @param source the storage that contains them
    /// @param from offset of the first one
    /// @param step from one to the next
    /// @param run the run for them
    /// @param count the count
    void read(MemorySegment source, long from, long step, byte[] run, int count) {
        if (step == itemsize) {
            MemorySegment.copy(source, Layouts.BYTE, from, run, 0, count * itemsize);
        } else if (source.isNative()) {
            gather(source, from, step, run, count);
        } else {
            // Apart, lest the loop for native memory is compiled for all kinds of segments and becomes slow for each.
            gatherSingly(source, from, step, run, count);
        }
    }

    /// Scatters elements from the start of an array to a segment.
    ///
    /// @param run the run that contains them
    /// @param target the destination
    /// @param to offset of the first one
    /// @param step from one to the next
    /// @param count the count
    void write(byte[] run, MemorySegment target, long to, long step, int count) {
        if (step == itemsize) {
            MemorySegment.copy(run, 0, target, Layouts.BYTE, to, count * itemsize);
        } else if (target.isNative()) {
            scatter(run, target, to, step, count);
        } else {
            scatterSingly(run, target, to, step, count);
        }
    }

    /// Gathers elements of one array to another.
    ///
    /// @param source the storage that contains them
    /// @param from index of the first one
    /// @param step from one to the next
    /// @param run the run for them
    /// @param to index of the first one
    /// @param count the count
    void gather(byte[] source, int from, int step, byte[] run, int to, int count) {
        switch (itemsize) {
            case 1 -> gatherBytes(source, from, step, run, to, count);
            case 2 -> gatherShorts(source, from, step, run, to, count);
            case 4 -> gatherInts(source, from, step, run, to, count);
            case 8 -> gatherLongs(source, from, step, run, to, count);
            default -> {
                for (int i = 0; i < count; i++) {
                    System.arraycopy(source, from + i * step, run, to + i * itemsize, itemsize);
                }
            }
        }
    }

    private static void gatherBytes(byte[] source, int from, int step, byte[] run, int to, int count) {
        int at = from;
        for (int i = 0; i < count; i++) {
            run[to + i] = source[at];
            at += step;
        }
    }

    private static void gatherShorts(byte[] source, int from, int step, byte[] run, int to, int count) {
        int at = from;
        for (int i = 0; i < count; i++) {
            SHORTS.set(run, to + i * 2, (short) SHORTS.get(source, at));
            at += step;
        }
    }

    private static void gatherInts(byte[] source, int from, int step, byte[] run, int to, int count) {
        int at = from;
        for (int i = 0; i < count; i++) {
            INTS.set(run, to + i * 4, (int) INTS.get(source, at));
            at += step;
        }
    }

    private static void gatherLongs(byte[] source, int from, int step, byte[] run, int to, int count) {
        int at = from;
        for (int i = 0; i < count; i++) {
            LONGS.set(run, to + i * 8, (long) LONGS.get(source, at));
            at += step;
        }
    }

    /// Gathers elements of native memory.
    private void gather(MemorySegment source, long from, long step, byte[] run, int count) {
        long at = from;
        switch (itemsize) {
            case 1 -> {
                for (int i = 0; i < count; i++) {
                    run[i] = source.get(Layouts.BYTE, at);
                    at += step;
                }
            }
            case 2 -> {
                for (int i = 0; i < count; i++) {
                    SHORTS.set(run, i * 2, source.get(Layouts.SHORT, at));
                    at += step;
                }
            }
            case 4 -> {
                for (int i = 0; i < count; i++) {
                    INTS.set(run, i * 4, source.get(Layouts.INT, at));
                    at += step;
                }
            }
            case 8 -> {
                for (int i = 0; i < count; i++) {
                    LONGS.set(run, i * 8, source.get(Layouts.LONG, at));
                    at += step;
                }
            }
            default -> gatherSingly(source, from, step, run, count);
        }
    }

    /// Scatters elements to native memory.
    private void scatter(byte[] run, MemorySegment target, long to, long step, int count) {
        long at = to;
        switch (itemsize) {
            case 1 -> {
                for (int i = 0; i < count; i++) {
                    target.set(Layouts.BYTE, at, run[i]);
                    at += step;
                }
            }
            case 2 -> {
                for (int i = 0; i < count; i++) {
                    target.set(Layouts.SHORT, at, (short) SHORTS.get(run, i * 2));
                    at += step;
                }
            }
            case 4 -> {
                for (int i = 0; i < count; i++) {
                    target.set(Layouts.INT, at, (int) INTS.get(run, i * 4));
                    at += step;
                }
            }
            case 8 -> {
                for (int i = 0; i < count; i++) {
                    target.set(Layouts.LONG, at, (long) LONGS.get(run, i * 8));
                    at += step;
                }
            }
            default -> scatterSingly(run, target, to, step, count);
        }
    }

    private void gatherSingly(MemorySegment source, long from, long step, byte[] run, int count) {
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(source, Layouts.BYTE, from + i * step, run, i * itemsize, itemsize);
        }
    }

    private void scatterSingly(byte[] run, MemorySegment target, long to, long step, int count) {
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(run, i * itemsize, target, Layouts.BYTE, to + i * step, itemsize);
        }
    }
}
