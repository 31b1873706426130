package io.undercroft.mmap;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.io.IOException;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/// The location of a shared tensor, for another process: a [handle to its storage][SharedStorageHandle], and how the
/// elements lie on it. It can be printed, parsed and serialised like the handle of the storage.
///
///     undercroft:shm/weights?nbytes=4096&id=123&dtype=float32&shape=2,3&stride=3,1&offset=0&flags=conj,neg
///
/// Tensors that share a storage share it in the process that opens their handles too. A gradient is not handed over.
///
/// @param storage where the storage is
/// @param dtype PyTorch's name of the type; of a type unknown to this library, `NAME:BITS`
/// @param offset storage offset of the first element, in elements
/// @param shape size in each dimension
/// @param stride elements from one index to the next in each dimension
/// @param flags what is true of the elements beyond that
public record SharedTensorHandle(SharedStorageHandle storage, String dtype, long offset, List<Long> shape,
        List<Long> stride, Set<Flag> flags) implements Serializable {
    private static final long serialVersionUID = 1L;

    /// Checks that there can be such a tensor. Nothing is allocated.
    ///
    /// @throws IllegalArgumentException if no type has that name, the strides do not fit the shape, an element would
    ///     lie outside the storage, or the elements cannot have these flags
    public SharedTensorHandle {
        dtype = name(type(dtype));
        shape = List.copyOf(shape);
        stride = List.copyOf(stride);
        flags = Set.copyOf(flags);
        tensor(Storage.meta(storage.slice().nbytes()), dtype, offset, shape, stride, flags);
    }

    /// Makes a handle of a tensor.
    ///
    /// @param tensor one whose storage is shared, for instance by [Tensor#shareMemory]
    /// @return the handle
    /// @throws IllegalStateException if the storage is not shared, was freed, or the location of its memory is unknown
    public static SharedTensorHandle of(Tensor tensor) {
        return new SharedTensorHandle(SharedStorageHandle.of(tensor.storage()), name(tensor.dtype()),
                tensor.storageOffset(), list(tensor.shape().toArray()), list(tensor.stride()), tensor.flags());
    }

    /// Reads a handle. Nothing is opened or allocated.
    ///
    /// @param text what [#toString] gave
    /// @return the handle
    /// @throws IllegalArgumentException if the text is no handle to a tensor
    public static SharedTensorHandle parse(String text) {
        HandleText read = HandleText.of(text);
        SharedStorageHandle storage = SharedStorageHandle.read(read);
        String dtype = read.decoded(read.need("dtype"));
        List<Long> shape = read.numbers("shape", read.need("shape"));
        List<Long> stride = read.numbers("stride", read.need("stride"));
        long offset = read.number("offset", read.need("offset"));
        String flags = read.take("flags").orElse("");
        read.end();
        try {
            return new SharedTensorHandle(storage, dtype, offset, shape, stride, flags(flags));
        } catch (IllegalArgumentException e) {
            throw read.wrong(String.valueOf(e.getMessage()));
        }
    }

    /// Finds the storage, maps it unless this process has it mapped already, and creates a tensor on it.
    ///
    /// @return the tensor; the caller has one reference to its storage, to be released by [Storage#release]
    /// @throws IOException as [SharedStorageHandle#open]
    public Tensor open() throws IOException {
        return tensor(storage.open(), dtype, offset, shape, stride, flags);
    }

    /// {@return the handle as one line of text, which [#parse] reads}
    @Override
    public String toString() {
        String set = flags.stream().sorted().map(flag -> flag.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(","));
        return storage + "&dtype=" + HandleText.encoded(dtype) + "&shape=" + joined(shape) + "&stride=" + joined(stride)
                + "&offset=" + offset + (set.isEmpty() ? "" : "&flags=" + set);
    }

    private static Tensor tensor(Storage on, String dtype, long offset, List<Long> shape, List<Long> stride,
            Set<Flag> flags) {
        return Tensor.of(on, type(dtype), offset, Shape.of(array(shape)), array(stride)).withFlags(flags);
    }

    private static String name(DType dtype) {
        return DType.find(dtype.name()).filter(dtype::equals).isPresent()
                ? dtype.name()
                : dtype.name() + ":" + dtype.bits();
    }

    private static DType type(String name) {
        int colon = Objects.requireNonNull(name, "dtype").lastIndexOf(':');
        if (colon < 0) {
            return DType.of(name);
        }
        try {
            return DType.opaque(name.substring(0, colon), Integer.parseInt(name.substring(colon + 1)));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("a type has a name, or NAME:BITS, and not '" + name + "'", e);
        }
    }

    private static Set<Flag> flags(String names) {
        return names.isEmpty()
                ? Set.of()
                : Arrays.stream(names.split(",", -1)).map(SharedTensorHandle::flag).collect(Collectors.toSet());
    }

    private static Flag flag(String name) {
        return Arrays.stream(Flag.values()).filter(flag -> flag.name().toLowerCase(Locale.ROOT).equals(name))
                .findFirst().orElseThrow(() -> new IllegalArgumentException("no tensor has the flag '" + name + "'"));
    }

    private static List<Long> list(long[] numbers) {
        return Arrays.stream(numbers).boxed().toList();
    }

    private static long[] array(List<Long> numbers) {
        return numbers.stream().mapToLong(Long::longValue).toArray();
    }

    private static String joined(List<Long> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(","));
    }
}
