/// Files of NumPy: one array in a `.npy` file, several by name in a `.npz` archive.
///
/// An array is a short header and its elements. The header is the text of a Python dictionary, which is read as data
/// and never evaluated. Elements are mapped where they are; arrays in column-major order are read by their strides.
/// Arrays that are compressed, big-endian or unaligned are decoded when they are first touched.
///
/// Supported elements are truth values, integers, floats and complex numbers of up to 16 bytes. Structured arrays,
/// text, dates, raw bytes and Python objects are refused; the message names the type. NumPy has neither bfloat16 and
/// other types of PyTorch, nor sharing: a tensor with two names is written twice, and opened as two.
@NullMarked
package io.undercroft.interop.numpy;

import org.jspecify.annotations.NullMarked;
