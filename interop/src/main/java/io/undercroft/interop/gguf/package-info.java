/// Files of GGUF, the format of llama.cpp: tensors by name, and typed metadata.
///
/// The state of a file is a [io.undercroft.serializer.state.TypedMap] of type `gguf`: its entries are the tensors, its
/// attributes the metadata, so that a file can be written back as it was. A value of the metadata has the corresponding
/// Java type, or is a [io.undercroft.serializer.state.Typed] if there is none:
///
/// | in the file | in the state |
/// |---|---|
/// | int8, int16, int32, int64 | `Byte`, `Short`, `Integer`, `Long` |
/// | float32, float64, bool | `Float`, `Double`, `Boolean` |
/// | string | `String`; `byte[]` if it is not UTF-8 |
/// | uint8 to uint64 | `Typed` of type `gguf:uint8` … of a `Long`, or of a `BigInteger` from 2^63 on |
/// | array | `Typed` of type `gguf:array:uint8` … of a `List` of such values; unsigned elements are plain numbers |
///
/// The list of an array that holds no arrays is read-only, and decodes its elements when they are read.
///
/// Tensors of numbers have their dtype. Tensors that are quantized in blocks have an opaque dtype: one element is one
/// block, for instance of the dtype `gguf:Q4_0` with 144 bits, and the last dimension counts blocks.
@NullMarked
package io.undercroft.interop.gguf;

import org.jspecify.annotations.NullMarked;
