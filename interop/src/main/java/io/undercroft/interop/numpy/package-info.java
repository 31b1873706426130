/// Files of NumPy: one array in a `.npy` file, several by name in a `.npz` archive.
///
/// An array is a short header and its elements. The header is the text of a Python dictionary, which is read as data
/// and never evaluated. Elements are mapped where they are; arrays in column-major order come as strides. What is
/// compressed, of the other byte order, or not aligned is decoded when it is first touched.
///
/// Read are truth values, integers, floats and complex numbers up to 16 bytes. Structured arrays, text, dates, raw
/// bytes and Python objects are refused by name. NumPy has no place for bfloat16 and other types of PyTorch, nor for
/// sharing: a tensor under two names is written twice, and comes back as two.
@NullMarked
package io.undercroft.interop.numpy;

import org.jspecify.annotations.NullMarked;
