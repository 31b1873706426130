package io.undercroft.storage.internal;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// Gathers elements that lie a step apart to a run in an array, and scatters such a run. All steps are in bytes.
///
/// The arrays are of bytes whatever the elements are: a copy between a segment and an array of bytes is the fastest one
/// of a short run in JDK 25. There is a class for each width of an element, and its loops differ from the others in
/// nothing but a type that Java has no parameter for. They add up the step, because the JIT makes slow code of a
/// product by a factor that it does not know.
abstract sealed class Stepping {
    private final int itemsize;

    private Stepping(int itemsize) {
        this.itemsize = itemsize;
    }

    /// {@return what gathers and scatters elements}
    ///
    /// @param itemsize bytes of an element
    static Stepping of(int itemsize) {
        return switch (itemsize) {
            case 1 -> new Bytes();
            case 2 -> new Shorts();
            case 4 -> new Ints();
            case 8 -> new Longs();
            default -> new Wide(itemsize);
        };
    }

    /// Gathers elements of a segment to the start of an array.
    ///
    /// @param source where they are
    /// @param from offset of the first one
    /// @param step from one to the next
    /// @param run where they go
    /// @param count how many
    final void read(MemorySegment source, long from, long step, byte[] run, int count) {
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
    /// @param run where they are
    /// @param target where they go
    /// @param to offset of the first one
    /// @param step from one to the next
    /// @param count how many
    final void write(byte[] run, MemorySegment target, long to, long step, int count) {
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
    /// @param source where they are
    /// @param from index of the first one
    /// @param step from one to the next
    /// @param run where they go
    /// @param to index of the first one
    /// @param count how many
    abstract void gather(byte[] source, int from, int step, byte[] run, int to, int count);

    /// Gathers elements of native memory.
    abstract void gather(MemorySegment source, long from, long step, byte[] run, int count);

    /// Scatters elements to native memory.
    abstract void scatter(byte[] run, MemorySegment target, long to, long step, int count);

    final void gatherSingly(MemorySegment source, long from, long step, byte[] run, int count) {
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(source, Layouts.BYTE, from + i * step, run, i * itemsize, itemsize);
        }
    }

    final void scatterSingly(byte[] run, MemorySegment target, long to, long step, int count) {
        for (int i = 0; i < count; i++) {
            MemorySegment.copy(run, i * itemsize, target, Layouts.BYTE, to + i * step, itemsize);
        }
    }

    private static final class Bytes extends Stepping {
        Bytes() {
            super(Byte.BYTES);
        }

        @Override
        void gather(byte[] source, int from, int step, byte[] run, int to, int count) {
            int at = from;
            for (int i = 0; i < count; i++) {
                run[to + i] = source[at];
                at += step;
            }
        }

        @Override
        void gather(MemorySegment source, long from, long step, byte[] run, int count) {
            long at = from;
            for (int i = 0; i < count; i++) {
                run[i] = source.get(Layouts.BYTE, at);
                at += step;
            }
        }

        @Override
        void scatter(byte[] run, MemorySegment target, long to, long step, int count) {
            long at = to;
            for (int i = 0; i < count; i++) {
                target.set(Layouts.BYTE, at, run[i]);
                at += step;
            }
        }
    }

    private static final class Shorts extends Stepping {
        private static final VarHandle SHORTS = MethodHandles.byteArrayViewVarHandle(short[].class, LITTLE_ENDIAN);

        Shorts() {
            super(Short.BYTES);
        }

        @Override
        void gather(byte[] source, int from, int step, byte[] run, int to, int count) {
            int at = from;
            for (int i = 0; i < count; i++) {
                SHORTS.set(run, to + i * Short.BYTES, (short) SHORTS.get(source, at));
                at += step;
            }
        }

        @Override
        void gather(MemorySegment source, long from, long step, byte[] run, int count) {
            long at = from;
            for (int i = 0; i < count; i++) {
                SHORTS.set(run, i * Short.BYTES, source.get(Layouts.SHORT, at));
                at += step;
            }
        }

        @Override
        void scatter(byte[] run, MemorySegment target, long to, long step, int count) {
            long at = to;
            for (int i = 0; i < count; i++) {
                target.set(Layouts.SHORT, at, (short) SHORTS.get(run, i * Short.BYTES));
                at += step;
            }
        }
    }

    private static final class Ints extends Stepping {
        private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, LITTLE_ENDIAN);

        Ints() {
            super(Integer.BYTES);
        }

        @Override
        void gather(byte[] source, int from, int step, byte[] run, int to, int count) {
            int at = from;
            for (int i = 0; i < count; i++) {
                INTS.set(run, to + i * Integer.BYTES, (int) INTS.get(source, at));
                at += step;
            }
        }

        @Override
        void gather(MemorySegment source, long from, long step, byte[] run, int count) {
            long at = from;
            for (int i = 0; i < count; i++) {
                INTS.set(run, i * Integer.BYTES, source.get(Layouts.INT, at));
                at += step;
            }
        }

        @Override
        void scatter(byte[] run, MemorySegment target, long to, long step, int count) {
            long at = to;
            for (int i = 0; i < count; i++) {
                target.set(Layouts.INT, at, (int) INTS.get(run, i * Integer.BYTES));
                at += step;
            }
        }
    }

    private static final class Longs extends Stepping {
        private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, LITTLE_ENDIAN);

        Longs() {
            super(Long.BYTES);
        }

        @Override
        void gather(byte[] source, int from, int step, byte[] run, int to, int count) {
            int at = from;
            for (int i = 0; i < count; i++) {
                LONGS.set(run, to + i * Long.BYTES, (long) LONGS.get(source, at));
                at += step;
            }
        }

        @Override
        void gather(MemorySegment source, long from, long step, byte[] run, int count) {
            long at = from;
            for (int i = 0; i < count; i++) {
                LONGS.set(run, i * Long.BYTES, source.get(Layouts.LONG, at));
                at += step;
            }
        }

        @Override
        void scatter(byte[] run, MemorySegment target, long to, long step, int count) {
            long at = to;
            for (int i = 0; i < count; i++) {
                target.set(Layouts.LONG, at, (long) LONGS.get(run, i * Long.BYTES));
                at += step;
            }
        }
    }

    /// Elements of any other width, one copy for each.
    private static final class Wide extends Stepping {
        private final int itemsize;

        Wide(int itemsize) {
            super(itemsize);
            this.itemsize = itemsize;
        }

        @Override
        void gather(byte[] source, int from, int step, byte[] run, int to, int count) {
            for (int i = 0; i < count; i++) {
                System.arraycopy(source, from + i * step, run, to + i * itemsize, itemsize);
            }
        }

        @Override
        void gather(MemorySegment source, long from, long step, byte[] run, int count) {
            gatherSingly(source, from, step, run, count);
        }

        @Override
        void scatter(byte[] run, MemorySegment target, long to, long step, int count) {
            scatterSingly(run, target, to, step, count);
        }
    }
}
