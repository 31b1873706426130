/// Models of ONNX. `OnnxFormat` opens them; `ProtoMessage` knows how protobuf writes fields, `OnnxModel` which fields a
/// model has, and `OnnxType` how tensors of each type are stored.
@NullMarked
package io.undercroft.interop.internal.onnx;

import org.jspecify.annotations.NullMarked;
