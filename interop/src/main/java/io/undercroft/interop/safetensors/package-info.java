/// Files of [safetensors](https://github.com/huggingface/safetensors) 0.8: tensors by name and nothing else.
///
/// A file is a length, a header in JSON, and the bytes of the tensors one after the other, which are mapped where they
/// lie. The format itself has no place for sharing. So it is in the header's metadata, which other readers pass
/// over:
///
/// - Of tensors that are the same window of the same storage, the first is written. For each other one the metadata has
///   its name, and the name of the first as the value. It is what `safetensors.torch.save_model` writes and
///   `load_model` understands.
/// - A tensor that is a view of another one is written too, so that every reader finds it. The metadata
///   `undercroft.views` says, in JSON, of which tensor it is a view, from which of its bytes on, and with which
///   strides.
///
/// A model in several files is opened and written by its index, `model.safetensors.index.json`.
@NullMarked
package io.undercroft.interop.safetensors;

import org.jspecify.annotations.NullMarked;
