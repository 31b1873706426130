package io.undercroft.spark.internal.files;

import io.undercroft.serializer.internal.analysis.Sizes;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.function.ToLongFunction;

/// Divides files among tasks, so that no task has much more to do than another.
public final class Bins {
    /// What opening a file costs, in bytes, as `spark.sql.files.openCostInBytes` has it.
    private static final long OPEN_COST = 4L << 20;

    private Bins() {}

    private static final class Bin {
        private final List<DataFile> files = new ArrayList<>();
        private long cost;

        void add(DataFile file, long more) {
            files.add(file);
            cost = Sizes.sum(cost, more);
        }
    }

    /// Divides files: the most costly first, each to the task that has the least to do.
    ///
    /// @param files the files
    /// @param size how many bytes of a file are read
    /// @param tasks how many tasks run at a time
    /// @param most the number of bytes above which there are more tasks than run at a time
    /// @return the files of each task; no list is empty
    public static List<List<DataFile>> divide(List<DataFile> files, ToLongFunction<DataFile> size, int tasks,
            long most) {
        if (files.isEmpty()) {
            return List.of();
        }
        long total = 0;
        for (DataFile file : files) {
            total = Sizes.sum(total, cost(file, size));
        }
        long wanted = Math.max(tasks, total / Math.max(1, most) + 1);
        int count = (int) Math.max(1, Math.min(wanted, files.size()));
        PriorityQueue<Bin> bins = new PriorityQueue<>(Comparator.comparingLong(bin -> bin.cost));
        for (int i = 0; i < count; i++) {
            bins.add(new Bin());
        }
        files.stream().sorted(Comparator.comparingLong((DataFile file) -> cost(file, size)).reversed())
                .forEach(file -> {
                    Bin least = bins.remove();
                    least.add(file, cost(file, size));
                    bins.add(least);
                });
        return bins.stream().sorted(Comparator.comparingLong((Bin bin) -> bin.cost).reversed())
                .map(bin -> List.copyOf(bin.files)).toList();
    }

    private static long cost(DataFile file, ToLongFunction<DataFile> size) {
        return Sizes.sum(OPEN_COST, size.applyAsLong(file));
    }
}
