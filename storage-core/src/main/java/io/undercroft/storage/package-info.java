/// Tensors, the storages they use, and the allocations that storages are made of.
///
/// ## Concepts
///
/// An [io.undercroft.storage.Allocation] is a run of bytes and the way to give it back: memory of this process, a
/// mapped file, shared memory. An [io.undercroft.storage.Allocator] makes new ones.
///
/// A [io.undercroft.storage.Storage] is an allocation with an identity. It has a size, a [io.undercroft.storage.Device]
/// and a reference count, but no element type. Its bytes may come late: they are made by the first call that needs
/// them. A slice is a storage on a part of another one's bytes. [io.undercroft.storage.StorageCopier] copies storages,
/// to a device for instance, such that what shared bytes before shares them after.
///
/// A [io.undercroft.storage.TypedStorage] reads a storage as elements of one type. It is what PyTorch calls legacy, and
/// the `DoubleStorage` and its like of Torch7; new code uses tensors.
///
/// A [io.undercroft.storage.Tensor] is a window on a storage: an element type, the [io.undercroft.storage.DType], and a
/// [io.undercroft.storage.Shape], strides and a storage offset, which count elements. Many tensors may use one
/// storage; what is written through one is read through the others. An element lies at
/// `offset + index[0] * stride[0] + index[1] * stride[1] + …`, in elements from the start of the storage. Views are new
/// windows and copy nothing; only methods that say so (`copy`, and `contiguous` where it must) make a new storage.
///
/// A tensor that is made of several tensors is a record of them: a [io.undercroft.storage.QuantizedTensor] has stored
/// integers and the parameters that make numbers of them, a [io.undercroft.storage.SparseTensor] places and values.
/// Its [io.undercroft.storage.Layout] says how to read it.
///
/// Two things are never mixed up: identity (`a.storage() == b.storage()`: writing to one shows in the other) and
/// content (`a.contentEquals(b)`: the bytes are equal now).
///
/// Elements are little-endian and need no alignment. The names and the behaviour are PyTorch's (`TensorImpl`,
/// `StorageImpl`, `DataPtr`) unless a method says otherwise.
///
/// ## Lifetime
///
/// | what | who may touch it | who gives it back |
/// |---|---|---|
/// | `Allocation` | its one storage | that storage, once, when its last reference goes |
/// | `Storage` | who holds a reference, or a tensor on it | who made or retained it, by `release()`; else a cleaner |
/// | slice | as a storage; it is a reference to its base | as a storage |
/// | `WeakStorage` | everyone | the garbage collector; it is no reference |
/// | `Tensor` | everyone | the garbage collector; a tensor is no reference to its storage |
/// | `MemorySegment` | who asked for it, while its storage lives | its allocation |
/// | `Shape`, `DType`, `Device` | everyone | the garbage collector |
///
/// A freed storage answers every access with [IllegalStateException]. A segment that was taken from it before throws
/// too, or, where the garbage collector owns the memory, still reads it.
///
/// ## Rules for all of this package
///
/// - Null: no method takes or returns null unless it is marked `@Nullable`; passing null throws [NullPointerException].
/// - Threads: all types may be used by several threads. What a tensor is never changes; of a storage, only the size
///   and the place do. Bytes are as racy as a
///   [java.lang.foreign.MemorySegment]: unordered, but safe for the JVM.
/// - Errors: a wrong size, stride or offset is an [IllegalArgumentException], a wrong index an
///   [IndexOutOfBoundsException], a freed storage or one without bytes an [IllegalStateException], writing what is
///   read-only or resizing what has a fixed size an [UnsupportedOperationException], memory of the host that is not
///   available an [OutOfMemoryError]; a device that is out of memory throws the exception of its module. Messages hold
///   the numbers.
@NullMarked
package io.undercroft.storage;

import org.jspecify.annotations.NullMarked;
