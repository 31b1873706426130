/// Encoding and conversion of elements, copying of strided elements, and printing. Not for use outside this library.
///
/// - [Elements] and its subclasses read and write the elements of a dtype: single ones, and runs.
/// - [StridedCopy] copies elements of tensors, [Conversion] converts them, both with several threads
///   ([ParallelRanges]).
/// - [PythonNumber], [FloatFormat] and [Torch7Printer] make text.
@NullMarked
package io.undercroft.storage.internal;

import org.jspecify.annotations.NullMarked;
