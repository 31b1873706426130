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
/// | other object | [TypedMap] of its fields, without numbers, texts and enum constants: its attribute `kryo` |
///
/// A sorted collection in reverse order has the attribute `order`, a map or set of constants of one enum the attribute
/// `enum`.
///
/// **Objects of Python.** A pickle may have objects of classes of which this library knows only the name. Each is a
/// [TypedMap] whose type is `python:` and the name of the class; [PythonObjects] finds the modules of PyTorch among
/// them.
@NullMarked
package io.undercroft.serializer.state;

import org.jspecify.annotations.NullMarked;
