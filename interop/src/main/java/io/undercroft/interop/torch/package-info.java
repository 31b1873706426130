/// Files written by `torch.save`.
///
/// Since version 1.6 PyTorch writes a zip archive: one *pickle*, a small program that builds the saved object, and one
/// uncompressed record of raw bytes for every storage. The pickle names storages by *persistent ids*; tensors are made
/// of a storage, an offset, sizes and strides. Older versions wrote pickles and storages one after the other, and the
/// oldest a tar archive. This package has these parts:
///
/// - the three containers, in which storages are mapped in place ([TorchZipFormat], which is also written, with
///   `TorchArchive`; [TorchLegacyFormat]; [TorchTarFormat]);
/// - an interpreter of the pickle's opcodes that builds plain Java values (`Unpickler`), and a writer (`Pickler`);
/// - a table of the few functions that a pickle may call (`Globals`). A file that names any other function is refused;
///   nothing else is ever looked up, loaded or run.
///
/// What PyTorch values become: a dict a `LinkedHashMap`, a list an `ArrayList`, a tuple a
/// [io.undercroft.serializer.state.Tuple], a tensor a [io.undercroft.storage.Tensor]; an `OrderedDict` or `Counter` a
/// [io.undercroft.serializer.state.TypedMap], and so does a sparse or nested tensor, with its parts by name; a
/// `Parameter`, a tensor subclass, a quantized tensor, a `frozenset` or a `bytearray` a
/// [io.undercroft.serializer.state.Typed] around what it is made of. [io.undercroft.serializer.state.TensorNodes]
/// converts such nodes to quantized and sparse tensors.
@NullMarked
package io.undercroft.interop.torch;

import org.jspecify.annotations.NullMarked;
