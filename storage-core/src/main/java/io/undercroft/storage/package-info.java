/// Tensors, the storages they use, and the allocations behind storages.
///
/// ## Concepts
///
/// An [io.undercroft.storage.Allocation] is a run of bytes and the way to release it: memory of this process, a mapped
/// file, shared memory. An [io.undercroft.storage.Allocator] makes new ones.
///
/// A [io.undercroft.storage.Storage] is an allocation with an identity. It has a size, a [io.undercroft.storage.Device]
/// and a reference count, but no element type. Its bytes may be deferred: they are read or allocated by the first call
/// that needs them. A slice is a storage that consists of a part of another one's bytes.
/// [io.undercroft.storage.StorageCopier] copies storages, to a device for instance, and keeps the sharing of bytes.
///
/// A [io.undercroft.storage.TypedStorage] reads a storage as elements of one type. It corresponds to the legacy
/// `TypedStorage` of PyTorch and to `DoubleStorage` and the like of Torch7; new code should use tensors.
///
/// A [io.undercroft.storage.Tensor] is a window on a storage: an element type, the [io.undercroft.storage.DType], and a
/// [io.undercroft.storage.Shape], strides and a storage offset, which count elements. Many tensors may use one storage;
/// what is written through one is read through the others. An element is at `offset + index[0] * stride[0] + index[1] *
/// stride[1] + …`, in elements from the start of the storage. Views are new windows and copy nothing; only methods
/// documented to do so (`copy`, and `contiguous` where it must) make a new storage.
///
/// A tensor that consists of several tensors is a record of them: a [io.undercroft.storage.QuantizedTensor] has stored
/// integers and the parameters to convert them, a [io.undercroft.storage.SparseTensor] indices and values. Its kind is
/// its [io.undercroft.storage.Layout].
///
/// Identity and content are different: `a.storage() == b.storage()` means that writes to one are visible in the other,
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
/// | `WeakStorage` | everyone | the garbage collector; it is no reference |
/// | `Tensor` | everyone | the garbage collector; a tensor is no reference to its storage |
/// | `MemorySegment` | its caller, until the storage is freed | its allocation |
/// | `Shape`, `DType`, `Device` | everyone | the garbage collector |
///
/// Every access to a freed storage throws [IllegalStateException]. So does access to its segments, unless the garbage
/// collector manages the memory: these can still be read.
///
/// ## Rules for all of this package
///
/// - Null: no method takes or returns null unless it is marked `@Nullable`; passing null throws [NullPointerException].
/// - Threads: all types may be used by several threads. Tensors are immutable; of a storage, only the size and the
///   address of its bytes change. Access to bytes is unordered, as to those of a [java.lang.foreign.MemorySegment], but
///   cannot harm the JVM.
/// - Errors: a wrong size, stride or offset is an [IllegalArgumentException], a wrong index an
///   [IndexOutOfBoundsException], a freed storage or one without bytes an [IllegalStateException], writing what is
///   read-only or resizing what has a fixed size an [UnsupportedOperationException], memory of the host that is not
///   available an [OutOfMemoryError]; a device that is out of memory throws the exception of its module. Messages
///   contain the numbers.
@NullMarked
package io.undercroft.storage;

import org.jspecify.annotations.NullMarked;
