package io.undercroft.interop.internal;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.DType;
import io.undercroft.storage.BorrowedBytes;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;

/// The elements of tensors, written out.
public final class TensorBytes {
    private TensorBytes() {}

    /// Writes the elements of a tensor in row-major order, with conjugation and negation applied. If they are not
    /// stored like that in the host's memory, they are copied through a buffer of some megabytes. Exceptions are a
    /// tensor on another device that is not row-major, whose bytes from the first to the last element are downloaded at
    /// once, and a tensor of elements narrower than a byte that is not row-major, which is copied as a whole.
    ///
    /// @param tensor a tensor with bytes
    /// @param output the destination
    /// @throws IOException if writing fails
    public static void write(Tensor tensor, Output output) throws IOException {
        boolean asStored = tensor.isContiguous() && !tensor.is(Flag.CONJ) && !tensor.is(Flag.NEG);
        if (tensor.numel() == 0) {
            return;
        }
        if (!tensor.device().isCpu()) {
            if (asStored && tensor.dtype().isByteSized()) {
                output.write(tensor.storage(), tensor.storageOffset() * tensor.itemsize(), tensor.nbytes());
            } else {
                write(tensor.cpu(), output);
            }
            return;
        }
        try (BorrowedBytes bytes = tensor.storage().borrow()) {
            Tensor borrowed = bytes.on(tensor);
            if (asStored || !tensor.dtype().isByteSized()) {
                writeWhole(borrowed.contiguous(), output);
            } else {
                writeSlabs(borrowed, output);
            }
        }
    }

    /// Writes the elements of a tensor as another dtype, converted as [Tensor#to(DType)] does, in row-major order. They
    /// are converted in a buffer of some megabytes. A tensor on another device is first downloaded as a whole.
    ///
    /// @param tensor a tensor with bytes
    /// @param dtype the dtype to write, of elements of whole bytes
    /// @param output the destination
    /// @throws IOException if writing fails
    /// @throws UnsupportedOperationException if the dtype is another one, and one of the two has no numbers
    public static void write(Tensor tensor, DType dtype, Output output) throws IOException {
        if (dtype.equals(tensor.dtype()) || tensor.numel() == 0) {
            write(tensor, output);
            return;
        }
        Tensor onHost = tensor.cpu();
        try (BorrowedBytes bytes = onHost.storage().borrow()) {
            TensorSlices slabs = TensorSlices.of(bytes.on(onHost));
            Storage space = Storage.allocate(
                    slabs.largest() / onHost.itemsize() * onHost.dtype().blockSize() * dtype.itemsize(),
                    AnonymousMemory.allocator());
            try {
                for (Tensor slab : slabs) {
                    output.write(Tensor.of(space, dtype, 0, slab.shapeAs(dtype)).copyFrom(slab).bytes());
                }
            } finally {
                space.release();
            }
        }
    }

    /// {@return what to do with a tensor whose elements a format does not have, without a full stop}
    ///
    /// @param dtype the type of the elements
    public static String remedy(DType dtype) {
        String kept = "save a .croft file, which holds all elements"
                + (dtype.blockSize() > 1 ? ", or a .gguf file" : "");
        if (!isNumber(dtype)) {
            return kept;
        }
        boolean isConverted = dtype.kind() == DType.Kind.FLOATING || dtype.blockSize() > 1;
        return kept + ", or convert " + (isConverted ? "all tensors with SaveOptions.dtype(DType.FLOAT32), or " : "")
                + "the tensor with Tensor.to(DType.FLOAT32)";
    }

    private static boolean isNumber(DType dtype) {
        // An element of another type may have any size.
        boolean isKnown = dtype.blockSize() > 1
                || (DType.values().contains(dtype) && dtype.kind() != DType.Kind.COMPLEX);
        try {
            return isKnown && Tensor.zeros(dtype, 1).to(DType.FLOAT32).numel() > 0;
        } catch (UnsupportedOperationException _) {
            return false;
        }
    }

    private static void writeWhole(Tensor tensor, Output output) throws IOException {
        try {
            output.write(tensor.bytes());
        } finally {
            // A copy's memory is freed with the tensor, not with the segment.
            Reference.reachabilityFence(tensor);
        }
    }

    private static void writeSlabs(Tensor tensor, Output output) throws IOException {
        TensorSlices slabs = TensorSlices.of(tensor);
        Storage space = Storage.allocate(slabs.largest(), AnonymousMemory.allocator());
        try {
            for (Tensor slab : slabs) {
                MemorySegment bytes = space.segment().asSlice(0, slab.nbytes());
                slab.copyTo(bytes);
                output.write(bytes);
            }
        } finally {
            space.release();
        }
    }
}
