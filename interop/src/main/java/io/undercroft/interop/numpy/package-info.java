/// Files of NumPy: one array in a `.npy` file, several by name in a `.npz` archive.
///
/// An array is a short header and its elements. The header is the text of a Python dictionary, which is read as data
/// and never evaluated. Elements are mapped where they are; arrays in column-major order are read by their strides.
/// Arrays that are compressed, big-endian or unaligned are decoded when they are first touched.
///
/// Numbers of up to 16 bytes are tensors, and so are long doubles and raw bytes, as opaque elements. Texts, dates and
/// records of fields are nodes of the state, whose types are NumPy's classes (`numpy.str_`, `numpy.datetime64`,
/// `numpy.record`); [io.undercroft.interop.numpy.TextArray] reads texts. An array of Python objects is a list,
/// `numpy.object_`, of what the pickle in the file says of them; nothing is run. In an archive an array that cannot be
/// read does not hide the others.
///
/// NumPy has neither bfloat16 and other types of PyTorch, nor sharing: a tensor with two names is written twice, and
/// opened as two.
@NullMarked
package io.undercroft.interop.numpy;

import org.jspecify.annotations.NullMarked;
