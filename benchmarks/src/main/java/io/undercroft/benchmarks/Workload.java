package io.undercroft.benchmarks;

import java.util.Locale;

/// Tensors to save and to open: all float32, of one shape, in one flat map.
///
/// @param what what it is called in the report
/// @param count how many tensors
/// @param rows size of their first dimension
/// @param columns size of their second dimension
record Workload(String what, int count, int rows, int columns) {
    /// 1 GiB in 256 tensors.
    static final Workload LARGE = new Workload("1 GiB in 256 tensors", 256, 1024, 1024);
    /// A sixteenth of it, in as many tensors.
    static final Workload QUICK_LARGE = new Workload("64 MiB in 256 tensors", 256, 256, 256);

    /// {@return 1 GiB, or a sixteenth of it for a quick look}
    static Workload large(Bench bench) {
        return bench.choose(LARGE, QUICK_LARGE);
    }

    /// {@return 10 000 tensors of 256 bytes, or a tenth of them}
    static Workload many(Bench bench) {
        return bench.choose(new Workload("10 000 small tensors", 10_000, 8, 8),
                new Workload("1000 small tensors", 1000, 8, 8));
    }

    /// {@return the bytes of all tensors}
    long nbytes() {
        return (long) count * rows * columns * Float.BYTES;
    }

    /// {@return the name of a tensor in the middle}
    String someName() {
        return name(count / 2);
    }

    /// {@return the name of a tensor}
    ///
    /// @param number which one, from 0
    String name(int number) {
        return String.format(Locale.ROOT, "layer.%05d.weight", number);
    }
}
