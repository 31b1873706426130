/// The values that a saved state consists of.
///
/// A state is a tree of plain values: null, `Boolean`, integers (`Byte` to `Long`, `BigInteger`), `Float`, `Double`,
/// `String`, `byte[]`, `java.util.Map`, `java.util.List`, `java.util.Set`, and types of this library: tensors and
/// storages, dtypes, devices, shapes, complex numbers, and the types of this package for values of other languages that
/// Java does not have.
///
/// A tensor that is a part of a larger one is a [Slice]; a [ShardSet][io.undercroft.serializer.ShardSet] joins the
/// parts of several files.
///
/// Containers have an identity: a list that is referenced twice is opened as one list. Numbers keep their classes; as
/// keys, integers of different widths are equal.
///
/// **Names.** The name of a value is its path: the keys and indices from the root, each escaped as a segment of a JSON
/// Pointer (`~` as `~0`, `/` as `~1`), joined by `/`. A state that is a tensor has the empty name. Integers, truth
/// values and null are keys in their text form; any other key is named by its kind, for instance `float` or `tuple`. If
/// two values would have the same name (the keys `1` and `"1"` in one map), `#2` is appended to the later one. The
/// value of a [Typed] has the path of the [Typed]; the paths of its attributes begin with it. A container that is
/// referenced twice gives names from its first place only.
///
/// The *raw name* is the same path without escapes, for instance `params/Dense_0/kernel` for a flat map with that key,
/// whose name is `params~1Dense_0~1kernel`. Other programs use the raw names of the tensors of a file. Two names may
/// have one raw name.
///
/// Containers nest at most 128 deep, a path has at most 4096 bytes of UTF-8, and the names of all tensors together have
/// at most 2^30 characters.
///
/// **Objects.** A state may also contain objects of a Java program;
/// [StateClasses][io.undercroft.serializer.StateClasses] describes which ones, and how they are restored. In the saved
/// *tree*, each object is a node: a value of this package whose type is `java:` and the name of the class. Programs in
/// other languages read the tree, [Checkpoint.tree][io.undercroft.serializer.Checkpoint#tree] returns it, and names of
/// tensors are paths in it:
///
/// | object | node |
/// |---|---|
/// | record | [TypedMap] of its components |
/// | constant of an enum | [Typed] of its name |
/// | `TreeMap`, `EnumMap`, any map whose keys are not plain | [TypedMap], or [Typed] of a list of pairs |
/// | `ArrayDeque`, `TreeSet` and the like, and any set of objects | [Typed] of a list |
/// | array (but `byte[]`, which is plain) | [Typed] of a list, or of the bytes of its primitive values, little-endian |
/// | `Optional`, `OptionalInt` and the like | [Typed] of a list of one or none |
/// | `Instant`, `Path`, `UUID` and other values of the JDK | [Typed] of their text |
/// | `BigInteger` of 64 bits, `Year`, `AtomicLong`, `Character` | [Typed] of the number, the code unit of a `Character` |
/// | `BitSet` | [Typed] of its bytes, the lowest bits first |
/// | object of a class with a codec | [TypedMap] of its parts |
/// | other object | [TypedMap] of its fields, in alphabetical order |
///
/// A sorted collection in reverse order has the attribute `order`, a map or set of constants of one enum the attribute
/// `enum`.
///
/// **Objects of Python.** A pickle may have objects of classes of which this library knows only the name. Each is a
/// [TypedMap] whose type is `python:` and the name of the class, and whose entries are the state that the pickle sets
/// for the object. No code of these classes is executed. A module of PyTorch is such an object with the entries
/// `_parameters`, `_buffers` and `_modules`; [Checkpoint.aliases][io.undercroft.serializer.Checkpoint#aliases] has the
/// names that its `state_dict()` gives to tensors.
@NullMarked
package io.undercroft.serializer.state;

import io.undercroft.serializer.internal.tree.PythonObjects;
import org.jspecify.annotations.NullMarked;
