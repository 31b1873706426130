/// Files of Torch7, the Lua ancestor of PyTorch: what `torch.save` wrote there, commonly named `.t7`.
///
/// A file is one object after the other, without a header, a checksum or padding; `torch.save` writes one,
/// `File:writeObject` any number, of which one is opened. Tables, tensors, storages and objects of classes have a
/// number each, and where one of them is again there is only its number. So what was shared is shared again, and
/// cycles are possible. Nothing says how numbers are written: as text or binary, in which byte order, and how wide C's
/// `long` was where the file was written. That is found by trying, or told with the settings of [Torch7Format].
///
/// What the values of Lua become, and come from:
///
/// | Lua | state |
/// |---|---|
/// | nil, boolean | null, `Boolean` |
/// | number | `Double`, as Lua has no other; any number that a double holds exactly can be written |
/// | string | `String` if it is UTF-8, else `byte[]` |
/// | table | `LinkedHashMap`; a number that is a key is a `Long` if it has no fraction. A list can be written, and comes back as a map from 1 on |
/// | table that has tables, objects or functions as keys | [Typed][io.undercroft.serializer.state.Typed] `torch7:table` of a list of pairs |
/// | tensor, also of CUDA | [Tensor][io.undercroft.storage.Tensor]; without dimensions, of the shape [0], with the stride 0 instead of 1 if it has a storage and that has no elements |
/// | storage, also of CUDA | [TypedStorage][io.undercroft.storage.TypedStorage] |
/// | object of the class `nn.Linear` | [TypedMap][io.undercroft.serializer.state.TypedMap] `torch7:nn.Linear` of its fields, with the attribute `version` if that is not 1; a `Typed` of a `torch7:table` if a map cannot hold them |
/// | `tds.Hash` | as an object of a class, with the version 0 |
/// | `tds.Vec`, `tds.AtomicCounter` | `Typed` of a list, of a `Long` |
/// | function | `Typed` `torch7:function` of its bytecode, with the attributes `tag` and `upvalues`; never run |
/// | generator | `Typed` `torch7:torch.Generator` of its bytes |
///
/// In two respects our files say less than a state does. A table has no order in Lua, so another program may write it
/// in another one. And two storages that are slices of one allocation are two storages to Torch7, which writes each
/// with bytes of its own.
@NullMarked
package io.undercroft.interop.torch7;

import org.jspecify.annotations.NullMarked;
