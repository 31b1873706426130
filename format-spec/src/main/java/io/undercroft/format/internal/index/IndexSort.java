package io.undercroft.format.internal.index;

import java.util.function.IntBinaryOperator;

/// Sorts the numbers of records by their contents, without an object for each.
final class IndexSort {
    private IndexSort() {}

    /// {@return the numbers from 0 to before `count` in order, equal ones in theirs} Merges from the bottom up, so that
    /// hostile input costs no more than any other, and what is sorted already is only compared.
    static int[] sorted(int count, IntBinaryOperator order) {
        int[] from = new int[count];
        for (int i = 0; i < count; i++) {
            from[i] = i;
        }
        int[] into = new int[count];
        for (long width = 1; width < count; width *= 2) {
            for (long low = 0; low < count; low += 2 * width) {
                int middle = (int) Math.min(low + width, count);
                int high = (int) Math.min(low + 2 * width, count);
                merge(from, (int) low, middle, high, into, order);
            }
            int[] merged = into;
            into = from;
            from = merged;
        }
        return from;
    }

    private static void merge(int[] from, int low, int middle, int high, int[] into, IntBinaryOperator order) {
        if (middle == high || order.applyAsInt(from[middle - 1], from[middle]) <= 0) {
            System.arraycopy(from, low, into, low, high - low);
            return;
        }
        int left = low;
        int right = middle;
        for (int at = low; at < high; at++) {
            boolean takeLeft = right == high || (left < middle && order.applyAsInt(from[left], from[right]) <= 0);
            into[at] = takeLeft ? from[left++] : from[right++];
        }
    }
}
