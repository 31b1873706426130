/// Tensors, the storages they use, and the allocations behind storages.
///
/// ## Concepts
///
/// An [io.undercroft.storage.Allocation] is a block of memory and the action that releases it. The memory belongs to
/// this process, or is a mapped file or shared memory. An [io.undercroft.storage.Allocator] creates allocations.
///
/// A [io.undercroft.storage.Storage] is an allocation with an identity. It has a size, a [io.undercroft.storage.Device]
/// and a reference count, but no element type. Its bytes may be deferred: they are read or allocated by the first call
/// that needs them. A slice is a storage on a part of the bytes of another storage.
/// [io.undercroft.storage.StorageCopier] copies storages, to a device for instance, and keeps the sharing of bytes.
///
/// A [io.undercroft.storage.TypedStorage] reads a storage as elements of one type. It corresponds to the legacy
/// `TypedStorage` of PyTorch and to `DoubleStorage` and the like of Torch7; new code should use tensors.
///
/// A [io.undercroft.storage.Tensor] is a strided view of a storage. It has an element type, the
/// [io.undercroft.storage.DType], and a [io.undercroft.storage.Shape], strides and a storage offset, which count
/// elements. Many tensors may use one storage; writes through one tensor are visible in the others. An element is at
/// `offset + index[0] * stride[0] + index[1] * stride[1] + …`, in elements from the start of the storage. A view is
/// another tensor on the same storage. Only methods that are documented to copy, such as `copy` and `contiguous`,
/// create a new storage.
///
/// Quantized and sparse tensors are records of several tensors: a [io.undercroft.storage.QuantizedTensor] has stored
/// integers and the parameters that convert them, a [io.undercroft.storage.SparseTensor] has indices and values, in one
/// of several [layouts][io.undercroft.storage.Layout].
///
/// Identity and content differ: `a.storage() == b.storage()` means that writes to one are visible in the other,
/// `a.contentEquals(b)` that the bytes are equal now.
///
/// Elements are little-endian and need no alignment. The names and the behaviour are PyTorch's (`TensorImpl`,
/// `StorageImpl`, `DataPtr`) unless documented otherwise.
///
/// ## Lifetime
///
/// | object | may be used by | is released by |
/// |---|---|---|
/// | `Allocation` | its one storage | that storage, once, with its last reference |
/// | `Storage` | holders of a reference or of a tensor on it | its creator and every caller of `retain()`, by `release()`; otherwise the garbage collector |
/// | slice | as a storage; it is a reference to its base | as a storage |
/// | `WeakStorage` | everyone | the garbage collector; it is not a reference to its storage |
/// | `Tensor` | everyone | the garbage collector; it is not a reference to its storage |
/// | `MemorySegment` | its caller, until the storage is freed | its allocation |
/// | `Shape`, `DType`, `Device` | everyone | the garbage collector |
///
/// Every access to a freed storage throws [IllegalStateException]. So does access to its segments, unless the garbage
/// collector manages the memory, which can still be read.
///
/// ## Rules for all of this package
///
/// - Null: no method takes or returns null unless it is marked `@Nullable`; passing null throws [NullPointerException].
/// - Threads: all types may be used by several threads. Tensors are immutable. The bytes of a storage, their number and
///   their address may change. Concurrent accesses to bytes are not ordered, as those to a
///   [java.lang.foreign.MemorySegment], but cannot crash the JVM.
/// - Errors: an invalid size, stride or offset throws an [IllegalArgumentException], an invalid index an
///   [IndexOutOfBoundsException]. Access to a storage that was freed or has no bytes throws an [IllegalStateException].
///   Writing to a read-only storage and resizing a storage of a fixed size throw an [UnsupportedOperationException]. If
///   the host does not have enough memory, an [OutOfMemoryError] is thrown; if a device does not, the exception of its
///   module. Messages contain the numbers.
@NullMarked
package io.undercroft.storage;

import org.jspecify.annotations.NullMarked;
