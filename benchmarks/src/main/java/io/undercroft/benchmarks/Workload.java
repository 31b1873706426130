package io.undercroft.benchmarks;

import java.util.Locale;

/// Tensors to save and to open: all float32, of one shape, in one flat map.
///
/// @param what what it is called in the report
/// @param count how many tensors
/// @param rows size of their first dimension
/// @param columns size of their second dimension
record Workload(String what, int count, int rows, int columns) {
    /// {@return 1 GiB in 256 tensors, or a sixteenth of it in as many}
    ///
    /// @param effort how much time to take
    static Workload large(Effort effort) {
        return switch (effort) {
            case FULL -> new Workload("1 GiB in 256 tensors", 256, 1024, 1024);
            case QUICK -> new Workload("64 MiB in 256 tensors", 256, 256, 256);
        };
    }

    /// {@return 256 MiB in 64 tensors, or a quarter of it in as many, for files in memory}
    ///
    /// @param effort how much time to take
    static Workload inMemory(Effort effort) {
        return switch (effort) {
            case FULL -> new Workload("256 MiB in 64 tensors", 64, 1024, 1024);
            case QUICK -> new Workload("64 MiB in 64 tensors", 64, 512, 512);
        };
    }

    /// {@return 1 GiB in 256 tensors, or a sixteenth of it in tensors that are large enough to be frozen}
    ///
    /// @param effort how much time to take
    static Workload background(Effort effort) {
        return switch (effort) {
            case FULL -> large(effort);
            case QUICK -> new Workload("64 MiB in 64 tensors", 64, 512, 512);
        };
    }

    /// {@return 10 000 tensors of 256 bytes, or a tenth of them}
    ///
    /// @param effort how much time to take
    static Workload many(Effort effort) {
        return switch (effort) {
            case FULL -> new Workload("10 000 small tensors", 10_000, 8, 8);
            case QUICK -> new Workload("1000 small tensors", 1000, 8, 8);
        };
    }

    /// {@return 1 000 000 tensors of 32 bytes, or a tenth of them}
    ///
    /// @param effort how much time to take
    static Workload huge(Effort effort) {
        return switch (effort) {
            case FULL -> new Workload("1 000 000 tiny tensors", 1_000_000, 2, 4);
            case QUICK -> new Workload("100 000 tiny tensors", 100_000, 2, 4);
        };
    }

    /// {@return 2 GiB in 512 tensors, or a sixteenth of it in as many}
    ///
    /// @param effort how much time to take
    static Workload published(Effort effort) {
        return switch (effort) {
            case FULL -> new Workload("2 GiB in 512 tensors", 512, 1024, 1024);
            case QUICK -> new Workload("128 MiB in 512 tensors", 512, 256, 256);
        };
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
