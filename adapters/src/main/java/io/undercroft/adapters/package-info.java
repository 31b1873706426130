/// The same memory as an array of another JVM library, without a copy: what is written on one side shows on the other.
///
/// | class | library | a tensor there | its array as a tensor | who releases the storage |
/// |---|---|---|---|---|
/// | [io.undercroft.adapters.OnnxTensors] | ONNX Runtime | `OnnxTensor`, input and output | made from a buffer | closing the `Lent` |
/// | [io.undercroft.adapters.DjlArrays] | DJL | `NDArray` of engines that take a buffer as it is | - | closing the `NDManager` |
/// | [io.undercroft.adapters.ArrowVectors] | Apache Arrow | a vector of numbers | without nulls | closing the vector |
/// | [io.undercroft.adapters.Nd4jArrays] | ND4J | `INDArray` | any strides | the garbage collector |
/// | [io.undercroft.adapters.BytesStores] | Chronicle Bytes | `BytesStore` of a storage | off the heap | its last release |
///
/// `ByteBuffer` and `MemorySegment` need no class of this package: `Tensor.bytes()`, `Tensor.asByteBuffer()` (up to 2
/// GiB) and `Storage.segment()` are views, `Storage.wrap(MemorySegment)` and
/// `Storage.wrap(MemorySegment.ofBuffer(buffer))` the way back.
///
/// **What can be shown.** Native code sees an address and a length. So a tensor must be contiguous (`contiguous()`
/// makes it so), off the heap, aligned to its elements and writable: a library that writes to a read-only mapping
/// kills the JVM. Mapped checkpoints are copy-on-write unless opened otherwise, which is writable. A dtype that the
/// library does not have is refused, never converted on the way.
///
/// **Lifetime.** What is made of a tensor holds a reference to its storage ([io.undercroft.storage.Storage#retain])
/// until the library releases it, so a checkpoint may be closed before. Resizing or moving a storage leaves the
/// library on memory that is not the storage's any more: do not, as long as something is lent. Nor can a storage keep
/// memory that it does not own: who closes the arena of a segment that was
/// [wrapped][io.undercroft.storage.Storage#wrap] takes it from the library, too. A tensor made of a library's
/// memory keeps it until its storage is released or collected.
///
/// **Dependencies** are optional: a program brings the libraries that it uses, and classes for others are never
/// loaded. Arrow needs `--add-opens=java.base/java.nio=ALL-UNNAMED`; DJL and ND4J are used here without JNA, which they
/// want for asking about GPUs and the machine only. DJL's engine for ONNX Runtime makes the one `OrtEnvironment` of a
/// process itself, so start it before asking for that. The natives of ONNX Runtime and ND4J come from their own
/// artefacts.
///
/// **Threads.** All methods may be called by several threads; what they return is as safe as the library says.
@NullMarked
package io.undercroft.adapters;

import org.jspecify.annotations.NullMarked;
