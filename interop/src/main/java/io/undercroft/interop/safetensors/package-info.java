/// Files of [safetensors](https://github.com/huggingface/safetensors) 0.8: tensors by name, and text metadata.
///
/// A file is a length, a header in JSON, and the bytes of the tensors, which are mapped in place. The format itself
/// cannot express sharing. So it is described in the header's metadata, which other readers ignore:
///
/// - Of tensors that are the same window of the same storage, only the first is written. The metadata maps the name of
///   each other one to the name of the first, as `safetensors.torch.save_model` writes it and `load_model` reads it.
/// - A tensor that is a view of another one is written too, so that every reader finds it. The metadata entry
///   `undercroft.views`, in JSON, has the name of that other tensor, the byte offset in it, and the strides.
///
/// A model in several files is opened and written by its index, `model.safetensors.index.json`.
@NullMarked
package io.undercroft.interop.safetensors;

import org.jspecify.annotations.NullMarked;
