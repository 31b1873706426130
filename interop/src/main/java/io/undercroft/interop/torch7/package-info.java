/// Files of Torch7, the Lua ancestor of PyTorch: what `torch.save` wrote there, commonly named `.t7`.
///
/// A file is one object after the other, without a header, a checksum or padding; `torch.save` writes one,
/// `File:writeObject` any number, of which one is opened. Tables, tensors, storages and objects of classes have a
/// number each, and a second reference is only that number. So sharing and cycles are kept. A file does not record how
/// its numbers are written: as text or binary, in which byte order, and with which width of C's `long`. The reader
/// tries all of them, unless the settings of [Torch7Format] name one.
///
/// Values of Lua and their Java types:
///
/// | Lua | state |
/// |---|---|
/// | nil, boolean | null, `Boolean` |
/// | number | `Double`, as Lua has no other; any number that a double holds exactly can be written |
/// | string | `String` if it is UTF-8, else `byte[]` |
/// | table | `LinkedHashMap`; a number that is a key is a `Long` if it has no fraction. A list can be written, and is read as a map from 1 on |
/// | table that has tables, objects or functions as keys | [Typed][io.undercroft.serializer.state.Typed] `torch7:table` of a list of pairs |
/// | tensor, also of CUDA | [Tensor][io.undercroft.storage.Tensor]; without dimensions, of the shape [0] |
/// | storage, also of CUDA | [TypedStorage][io.undercroft.storage.TypedStorage] |
/// | object of the class `nn.Linear` | [TypedMap][io.undercroft.serializer.state.TypedMap] `torch7:nn.Linear` of its fields, with the attribute `version` if that is not 1; a `Typed` of a `torch7:table` if a map cannot hold them |
/// | `tds.Hash` | as an object of a class, with the version 0 |
/// | `tds.Vec`, `tds.AtomicCounter` | `Typed` of a list, of a `Long` |
/// | function | `Typed` `torch7:function` of its bytecode, with the attributes `tag` and `upvalues`; never run |
/// | generator | `Typed` `torch7:torch.Generator` of its bytes |
///
/// A tensor without dimensions has the stride 1, or 0 if it has a storage and that has no elements.
///
/// Files of Torch7 lose two properties of a state. Tables have no order in Lua, so another program may write their
/// entries in another one. And two storages that are slices of one allocation are written separately.
@NullMarked
package io.undercroft.interop.torch7;

import org.jspecify.annotations.NullMarked;
