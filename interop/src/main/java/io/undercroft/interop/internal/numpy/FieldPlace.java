package io.undercroft.interop.internal.numpy;

import io.undercroft.interop.internal.numpy.NumpyType.Field;
import io.undercroft.storage.Shape;
import java.util.Arrays;
import java.util.Optional;

/// The position of the elements of a field in a record.
public final class FieldPlace {
    /// The place of the record itself.
    public static final FieldPlace WHOLE = new FieldPlace(0, new long[0], new long[0]);

    private final long offset;
    private final long[] sizes;
    private final long[] steps;

    /// @param offset of the first one, in bytes
    /// @param sizes the sizes of the arrays that the field and the records around it are
    /// @param steps the distances between elements in these dimensions, in bytes
    private FieldPlace(long offset, long[] sizes, long[] steps) {
        this.offset = offset;
        this.sizes = sizes;
        this.steps = steps;
    }

    /// {@return where the first element is, in bytes}
    public long offset() {
        return offset;
    }

    /// {@return the sizes of the arrays that the field and the records around it are}
    public Shape sizes() {
        return Shape.of(sizes);
    }

    /// {@return the distances between elements in these dimensions, in elements of some bytes, if all are whole ones}
    ///
    /// @param size how many bytes
    public Optional<long[]> steps(long size) {
        return Arrays.stream(steps).allMatch(step -> step % size == 0)
                ? Optional.of(Arrays.stream(steps).map(step -> step / size).toArray())
                : Optional.empty();
    }

    /// {@return the place of a field of the record that is here}
    ///
    /// @param field the field
    public FieldPlace in(Field field) {
        return new FieldPlace(offset + field.offset(), sizes, steps).with(field.shape(), field.type().itemsize());
    }

    /// {@return the place of the elements of an array that is here}
    ///
    /// @param inner the sizes of the array
    /// @param itemsize the bytes of an element
    public FieldPlace with(Shape inner, long itemsize) {
        long[] strides = Arrays.stream(inner.contiguousStride()).map(each -> Math.multiplyExact(each, itemsize))
                .toArray();
        return new FieldPlace(offset, concat(sizes, inner.toArray()), concat(steps, strides));
    }

    /// {@return the bytes of the field in several records}
    ///
    /// @param records how many
    /// @param itemsize the bytes of a record
    /// @param length the bytes of an element of the field
    public FieldRuns runs(long records, long itemsize, long length) {
        return new FieldRuns(offset, concat(new long[]{records}, sizes), concat(new long[]{itemsize}, steps), length)
                .joined();
    }

    /// {@return the sizes of an array of such fields}
    ///
    /// @param records the shape of an array of records
    public Shape shape(Shape records) {
        return Shape.of(concat(records.toArray(), sizes));
    }

    /// {@return the numbers of two arrays, one after the other}
    ///
    /// @param first the first ones
    /// @param second those behind them
    public static long[] concat(long[] first, long[] second) {
        long[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}
