package io.undercroft.format.internal;

import io.undercroft.format.FormatException;
import java.util.Collection;
import java.util.Optional;

/// The range of bytes of a storage from the first element of a tensor to its last one.
///
/// @param start the first byte, counted from the start of the storage
/// @param end the first byte after the range
public record Span(long start, long end) {
    /// Returns the span of a tensor of a snapshot.
    ///
    /// @param snapshot the snapshot
    /// @param tensor the number of the tensor
    /// @return its span; nothing if it has no elements
    /// @throws FormatException if what describes it is damaged or breaks a rule
    public static Optional<Span> of(Snapshot snapshot, int tensor) {
        TensorRecord record = snapshot.tensor(tensor);
        return of(record, snapshot.dtype(record.dtype()).bits());
    }

    /// The record was checked by rule V5, so no sum here overflows.
    private static Optional<Span> of(TensorRecord tensor, int bits) {
        long[] shape = tensor.shape();
        long[] stride = tensor.stride();
        long low = 8 * tensor.byteOffset() + tensor.bitOffset();
        long high = low + bits;
        for (int dim = 0; dim < shape.length; dim++) {
            if (shape[dim] == 0) {
                return Optional.empty();
            }
            long reach = (shape[dim] - 1) * stride[dim] * bits;
            low += Math.min(reach, 0);
            high += Math.max(reach, 0);
        }
        return Optional.of(new Span(low / 8, (high + 7) / 8));
    }

    /// {@return whether it has a byte in common with a range}
    ///
    /// @param from the first byte of a range of the same storage
    /// @param to the first byte after it
    public boolean touches(long from, long to) {
        return start < to && from < end;
    }

    /// {@return the number of bytes of several ranges together}
    ///
    /// @param spans the ranges
    public static long sum(Collection<Span> spans) {
        long sum = 0;
        for (Span span : spans) {
            sum = Math.addExact(sum, span.end - span.start);
        }
        return sum;
    }

    /// {@return the bytes from the first of both to the last of both}
    ///
    /// @param other a range of the same storage
    public Span and(Span other) {
        return new Span(Math.min(start, other.start), Math.max(end, other.end));
    }
}
