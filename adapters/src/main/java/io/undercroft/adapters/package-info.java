/// Adapters that share memory with arrays of other JVM libraries, without a copy: writes on one side are visible on the
/// other.
///
/// | class | library | array on a tensor | tensor on an array | the storage is released by |
/// |---|---|---|---|---|
/// | [io.undercroft.adapters.OnnxTensors] | ONNX Runtime | `OnnxTensor`, input and output | if it was made from a buffer | closing the `Lent` |
/// | [io.undercroft.adapters.DjlArrays] | DJL | `NDArray`, for engines that use a buffer without copying it | not supported | closing the `NDManager` |
/// | [io.undercroft.adapters.ArrowVectors] | Apache Arrow | a vector of numbers | if it has no nulls | closing the vector |
/// | [io.undercroft.adapters.BytesStores] | Chronicle Bytes | `BytesStore` of a storage | if it is off the heap | its last release |
///
/// `ByteBuffer` and `MemorySegment` need no class of this package: `Tensor.bytes()`, `Tensor.asByteBuffer()` (up to 2
/// GiB) and `Storage.segment()` are views, `Storage.wrap(MemorySegment)` and
/// `Storage.wrap(MemorySegment.ofBuffer(buffer))` the way back.
///
/// **Requirements.** Native code takes an address and a length. So a tensor must be contiguous (call `contiguous()`),
/// off the heap, aligned to its elements and writable: a library that writes to a read-only mapping crashes the JVM.
/// Checkpoints are mapped copy-on-write by default, which is writable. A dtype that the library does not have is
/// refused, never converted.
///
/// **Lifetime.** An array made from a tensor holds a reference to its storage ([io.undercroft.storage.Storage#retain])
/// until the library releases it, so the checkpoint may be closed before. Do not resize or move the storage until then:
/// the library would use freed memory. Memory that a storage does not own is not kept: after the arena of a
/// [wrapped][io.undercroft.storage.Storage#wrap] segment is closed, the library must not use it either. A tensor made
/// from a library's memory keeps it until its storage is released or collected.
///
/// **Dependencies** are optional: a program declares the libraries that it uses, and classes for the others are never
/// loaded. Arrow needs `--add-opens=java.base/java.nio=ALL-UNNAMED`; DJL is used here without JNA, which it needs only
/// to query GPUs and the machine. DJL's engine for ONNX Runtime creates the only `OrtEnvironment` of a process itself,
/// so start it before you use that. The natives of ONNX Runtime come from its own artefact.
///
/// **Threads.** All methods may be called by several threads; the thread safety of what they return is that of the
/// library.
@NullMarked
package io.undercroft.adapters;

import org.jspecify.annotations.NullMarked;
