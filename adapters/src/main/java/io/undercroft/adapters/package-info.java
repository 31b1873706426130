/// Adapters that share memory with arrays of other JVM libraries, without a copy: writes on one side are visible on the
/// other.
///
/// | class | library | array on a tensor (`wrap`) | tensor on an array (`asTensor`) | the storage is released by |
/// |---|---|---|---|---|
/// | [io.undercroft.adapters.OnnxTensors] | ONNX Runtime | `OnnxTensor` | if made from a buffer | closing `Wrapped` |
/// | [io.undercroft.adapters.DjlArrays] | DJL | `NDArray`, for engines that use a buffer without copying it | not supported | closing the `NDManager` |
/// | [io.undercroft.adapters.ArrowVectors] | Apache Arrow | a vector of numbers | if it has no nulls | closing the vector |
/// | [io.undercroft.adapters.BytesStores] | Chronicle Bytes | `BytesStore` | if it is off the heap | its last release |
///
/// [io.undercroft.adapters.OnnxSession] opens an ONNX model whose initializers are tensors, in their memory. Processes
/// that map the same checkpoint then run it with one copy of the weights.
///
/// [io.undercroft.adapters.TensorSerializers] writes and reads tensors and storages in graphs of objects that a program
/// serializes by Kryo, and [io.undercroft.adapters.KryoCodec] saves objects in checkpoints that a serializer of Kryo
/// writes. They copy bytes, unless both processes share them.
///
/// [io.undercroft.adapters.BytesMarshallableCodec] saves objects in checkpoints that write themselves to Chronicle
/// Bytes.
///
/// `ByteBuffer` and `MemorySegment` need no adapter: `Tensor.bytes()`, `Tensor.asByteBuffer()` (up to 2 GiB) and
/// `Storage.segment()` return the memory, `Storage.wrap(MemorySegment)` and
/// `Storage.wrap(MemorySegment.ofBuffer(buffer))` create storages on it.
///
/// **Requirements.** Native code takes an address and a length. A tensor must therefore be contiguous (call
/// `contiguous()`), off the heap, aligned to its elements and writable: a library that writes to a read-only mapping
/// crashes the JVM. Checkpoints are mapped copy-on-write by default, and are writable. A dtype that the library does
/// not have is rejected, never converted.
///
/// **Lifetime.** An array made from a tensor holds a reference to its storage ([io.undercroft.storage.Storage#retain])
/// until the library releases it, so the checkpoint may be closed before. Do not resize or move the storage until then:
/// the library would use freed memory. The reference does not keep memory that the storage does not own: the library
/// must not use a [wrapped][io.undercroft.storage.Storage#wrap] segment after its arena is closed. A tensor made from
/// memory of a library keeps the memory until its storage is released or collected.
///
/// **Dependencies** are optional: a program declares the libraries that it uses, and classes for the others are not
/// loaded. Kryo is version 4 or 5, in the packages `com.esotericsoftware.kryo`; `KryoCodec` and
/// `BytesMarshallableCodec` also need `undercroft-serializer`. Arrow needs
/// `--add-opens=java.base/java.nio=ALL-UNNAMED`; DJL is used here without JNA, which it needs only to query GPUs and
/// the machine. DJL's engine for ONNX Runtime creates the only `OrtEnvironment` of the process: start the engine before
/// `OrtEnvironment.getEnvironment()` is called. The native libraries of ONNX Runtime are in the artifact `onnxruntime`,
/// not in those of DJL.
///
/// **ONNX Runtime 1.29.0 on Linux** ends the process with SIGSEGV and no message when its environment is created and
/// the command line has more than about 4000 bytes, which its telemetry analyses. Set the environment variable
/// `ORT_DISABLE_TELEMETRY=1`, or keep the class path out of the command line, with the variable `CLASSPATH` or a file
/// of arguments (`java @arguments`).
///
/// **Threads.** All methods may be called by several threads. The objects that they return are as thread-safe as the
/// library makes them.
@NullMarked
package io.undercroft.adapters;

import org.jspecify.annotations.NullMarked;
