package io.undercroft.serializer.internal;

import java.util.function.IntPredicate;

/// Finds the first element of a sorted list that passes a test.
public final class BinarySearch {
    private BinarySearch() {}

    /// {@return the first number of a list that passes a test, or the size of the list if none does}
    ///
    /// @param size the size of the list
    /// @param test a test that all numbers pass after the first that does
    public static int first(int size, IntPredicate test) {
        int low = 0;
        int high = size;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (test.test(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
}
