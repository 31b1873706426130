package io.undercroft.format.internal;

/// A token of the state tree, as [StateTreeReader#next] returns it.
public enum StateToken {
    /// Python's `None`.
    NULL,
    /// A truth value: [StateTreeReader#booleanValue].
    BOOLEAN,
    /// An integer that fits 64 bits: [StateTreeReader#longValue].
    INTEGER,
    /// An integer that does not: [StateTreeReader#bigIntegerValue].
    BIG_INTEGER,
    /// An integer that was saved as one of 8 bits: [StateTreeReader#longValue].
    INT8,
    /// An integer that was saved as one of 16 bits: [StateTreeReader#longValue].
    INT16,
    /// An integer that was saved as one of 32 bits: [StateTreeReader#longValue].
    INT32,
    /// A floating-point number of 64 bits: [StateTreeReader#doubleValue].
    FLOAT,
    /// A floating-point number that was saved as one of 32 bits: [StateTreeReader#floatValue].
    FLOAT32,
    /// Two of them: [StateTreeReader#doubleValue] and [StateTreeReader#imaginaryValue].
    COMPLEX,
    /// Text: [StateTreeReader#text].
    STRING,
    /// Bytes: [StateTreeReader#bytes].
    BYTES,
    /// A list of [StateTreeReader#count] values, which follow, then [#END].
    LIST,
    /// A tuple of [StateTreeReader#count] values, which follow, then [#END].
    TUPLE,
    /// [StateTreeReader#count] pairs of a key and a value, which follow in order, then [#END].
    MAP,
    /// A set of [StateTreeReader#count] values, which follow, then [#END].
    SET,
    /// A tensor: [StateTreeReader#index].
    TENSOR,
    /// A storage: [StateTreeReader#index], with [StateTreeReader#storageDType] if it is a typed one.
    STORAGE,
    /// An element type: [StateTreeReader#index].
    DTYPE,
    /// A device: [StateTreeReader#text].
    DEVICE,
    /// A shape (`torch.Size`): [StateTreeReader#shape].
    SHAPE,
    /// A named constant of another system, such as `torch.per_tensor_affine`: [StateTreeReader#text].
    SYMBOL,
    /// A container that was opened before, perhaps still open: [StateTreeReader#index] is its number.
    REFERENCE,
    /// An object of the type [StateTreeReader#text]; two values follow, its value and its attributes (a MAP or NULL),
    /// then [#END].
    OBJECT,
    /// The end of the container that was opened last.
    END,
    /// The end of the tree.
    DONE
}
