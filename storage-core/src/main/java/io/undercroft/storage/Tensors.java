package io.undercroft.storage;

import io.undercroft.storage.Tensor.Flag;
import io.undercroft.storage.internal.Conversion;
import io.undercroft.storage.internal.StridedCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// The creation, filling and copying of tensors with new storages, for [Tensor], which documents each method.
final class Tensors {
    private Tensors() {}

    /// Returns the bytes of a new tensor.
    static long nbytes(DType dtype, Shape shape) {
        try {
            return dtype.nbytes(shape.numel());
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException(
                    "the shape " + shape + " of " + dtype + " has more than 2^63-1 bytes", e);
        }
    }

    /// Returns the shape of the elements of a tensor as another dtype.
    static Shape shape(Tensor tensor, DType dtype) {
        int block = tensor.dtype().blockSize();
        if (block == 1 || tensor.dtype().equals(dtype)) {
            return tensor.shape();
        }
        long[] sizes = tensor.dim() == 0 ? new long[]{1} : tensor.shape().toArray();
        try {
            sizes[sizes.length - 1] = Math.multiplyExact(sizes[sizes.length - 1], (long) block);
            return Shape.of(sizes);
        } catch (ArithmeticException e) {
            throw new IllegalArgumentException("the blocks of " + tensor.shape() + " have more than 2^63-1 numbers", e);
        }
    }

    /// Returns how many whole elements some bytes hold.
    static long elementsIn(long nbytes, DType dtype) {
        if (dtype.isByteSized()) {
            return nbytes / dtype.itemsize();
        }
        // Elements narrower than a byte; the bytes of no real storage overflow this.
        return Math.multiplyExact(nbytes, Byte.SIZE) / dtype.bits();
    }

    /// Creates a zeroed tensor in row-major order; without bytes if the tensor that it is made from has none (meta).
    static Tensor zerosLike(Tensor source, DType dtype, Shape shape) {
        long[] sizes = shape.toArray();
        return source.device().isMeta() ? Tensor.meta(dtype, sizes) : Tensor.zeros(dtype, sizes);
    }

    /// Creates a zeroed tensor of the shape of another one, for its elements; a meta tensor if that is one.
    static Tensor empty(Tensor like, ElementType type, MemoryFormat format, Allocator allocator) {
        Shape shape = shape(like, type.dtype);
        long[] stride = format.stride(shape);
        long nbytes = nbytes(type.dtype, shape);
        if (nbytes > like.storage.nbytes() && like.device().isCpu() && !like.storage.isMaterialized()) {
            // A few bytes that repeat may be much in memory, and it may turn out that they cannot be read.
            try (BorrowedBytes borrowed = like.storage.borrow()) {
                borrowed.storage().segment();
            }
        }
        Storage storage = like.device().isMeta() ? Storage.meta(nbytes) : Storage.allocate(nbytes, allocator);
        return Tensor.on(storage, type, 0, Geometry.of(shape, stride));
    }

    /// Creates a tensor of the elements of an array of Java numbers.
    static Tensor of(DType dtype, ValueLayout layout, Object array, int length) {
        Tensor tensor = Tensor.zeros(dtype, length);
        MemorySegment.copy(array, 0, tensor.bytes(), layout, 0, length);
        return tensor;
    }

    static Tensor of(boolean... values) {
        Tensor tensor = Tensor.zeros(DType.BOOL, values.length);
        for (int i = 0; i < values.length; i++) {
            tensor.setLong(i, values[i] ? 1 : 0);
        }
        return tensor;
    }

    static Tensor of(Complex... values) {
        Tensor tensor = Tensor.zeros(DType.COMPLEX128, values.length);
        for (int i = 0; i < values.length; i++) {
            tensor.setComplex(i, values[i]);
        }
        return tensor;
    }

    static Tensor arange(DType dtype, long end) {
        Tensor tensor = Tensor.zeros(dtype, end);
        MemorySegment bytes = tensor.segment();
        for (long i = 0; i < end; i++) {
            tensor.type.elements.setLong(bytes, i, i);
        }
        return tensor;
    }

    static Tensor arange(DType dtype, double start, double end, double step) {
        double count = Math.ceil((end - start) / step);
        // Written so that NaN is refused too.
        if (!(count >= 0 && count < 0x1p63) || step == 0) {
            throw new IllegalArgumentException("there is no way from " + start + " to " + end + " by steps of " + step);
        }
        Tensor tensor = Tensor.zeros(dtype, (long) count);
        MemorySegment bytes = tensor.segment();
        for (long i = 0; i < tensor.numel(); i++) {
            tensor.type.elements.setDouble(bytes, i, start + i * step);
        }
        return tensor;
    }

    static Tensor converted(Tensor tensor, DType dtype) {
        boolean differentiable = dtype.kind() == DType.Kind.FLOATING || dtype.kind() == DType.Kind.COMPLEX;
        ElementType type = ElementType.of(dtype);
        ElementType kept = differentiable && tensor.is(Flag.REQUIRES_GRAD) ? type.toggled(Flag.REQUIRES_GRAD) : type;
        return empty(tensor, kept, MemoryFormat.CONTIGUOUS, Allocator.offHeap()).copyFrom(tensor);
    }

    static Tensor moved(Tensor tensor, Device device) {
        if (device.isMeta()) {
            return Tensor.on(Storage.meta(tensor.storage.nbytes()), tensor.type, tensor.offset, tensor.geometry);
        }
        if (!tensor.device().isCpu()) {
            return fetched(tensor, device);
        }
        Tensor moving = tensor.nbytes() == tensor.storage.nbytes() ? tensor : tensor.copy();
        Storage moved = moving.storage.to(device);
        return moved == tensor.storage ? tensor : Tensor.on(moved, moving.type, moving.offset, moving.geometry);
    }

    static Tensor pinned(Tensor tensor) {
        Tensor moving = tensor.nbytes() == tensor.storage.nbytes() ? tensor : tensor.cpu().copy();
        return Tensor.on(moving.storage.pinMemory(), moving.type, moving.offset, moving.geometry);
    }

    /// Copies the bytes between which the elements of a tensor on a device are, since the device cannot put the
    /// elements in another order.
    private static Tensor fetched(Tensor tensor, Device device) {
        Storage storage = tensor.storage;
        if (Allocator.on(device).device().equals(storage.device())) {
            // A device without an index is one that has one.
            return tensor;
        }
        tensor.checkHolds(storage.nbytes());
        // Eight elements are a whole number of bytes, so that the first of eight starts on one.
        long skipped = tensor.dtype().isByteSized() ? tensor.offset : tensor.offset & -Byte.SIZE;
        long start = tensor.numel() == 0 ? 0 : tensor.dtype().nbytes(skipped);
        long end = tensor.numel() == 0 ? 0 : tensor.end;
        if (start == 0 && end == storage.nbytes()) {
            return Tensor.on(storage.to(device), tensor.type, tensor.offset, tensor.geometry);
        }
        Storage part = storage.slice(start, end - start);
        try {
            long first = tensor.numel() == 0 ? 0 : tensor.offset - skipped;
            return Tensor.on(part.to(device), tensor.type, first, tensor.geometry);
        } finally {
            part.release();
        }
    }

    /// Copies and converts all elements of one tensor into another.
    static void copy(Tensor source, Tensor target) {
        if (source.dtype().blockSize() > 1 && !source.dtype().equals(target.dtype())) {
            decode(source, target);
            return;
        }
        long[] sizes = target.shape().toArray();
        Tensor expanded = source.isSameSize(target) ? source : source.expand(sizes);
        boolean itself = expanded.isSetTo(target) && expanded.flags().equals(target.flags());
        if (itself || target.device().isMeta()) {
            return;
        }
        BulkAccess.check(source);
        BulkAccess.run(source.storage, target.storage,
                () -> StridedCopy.copy(expanded.side(expanded.segment()), target.side(target.writable()), sizes));
    }

    /// Decodes blocks. Those that are not row-major are copied first, and so are the numbers of a target that is not.
    private static void decode(Tensor source, Tensor target) {
        DType dtype = target.dtype();
        Shape shape = shape(source, dtype);
        if (!shape.equals(target.shape())) {
            throw new IllegalArgumentException("the blocks hold numbers of the shape " + shape
                    + ", and the target has the shape " + target.shape());
        }
        if (target.device().isMeta()) {
            return;
        }
        if (!target.isOneRun()) {
            copy(converted(source, dtype), target);
            return;
        }
        BulkAccess.check(source);
        target.writable();
        Tensor run = source.contiguous();
        boolean overlaps = run.bytes().asOverlappingSlice(target.bytes()).isPresent();
        Tensor blocks = overlaps ? run.copy() : run;
        BulkAccess.run(blocks.storage, target.storage, () -> Conversion.decode(source.dtype(), blocks.bytes(), dtype,
                target.bytes(), target.numel()));
    }

    /// Writes the one element of a tensor without dimensions over all elements of another.
    static void fill(Tensor target, Tensor value) {
        boolean run = target.isOneRun() && target.dtype().isByteSized();
        if (!run || target.device().isMeta()) {
            copy(value.expand(target.shape().toArray()), target);
            return;
        }
        Tensor converted = value.to(target.dtype());
        target.writable();
        BulkAccess.run(target.storage, converted.storage, () -> BulkAccess.repeat(converted.bytes(), target.bytes()));
    }
}
