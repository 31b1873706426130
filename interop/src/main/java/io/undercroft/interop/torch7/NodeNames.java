package io.undercroft.interop.torch7;

import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;

/// The names of nodes and attributes for values that only Torch7 has.
final class NodeNames {
    /// The prefix of the names of Torch7's classes.
    static final String PREFIX = "torch7:";
    /// A table whose keys cannot be keys of a map: a [Typed] of a list of pairs.
    static final String TABLE = PREFIX + "table";
    /// A function: a [Typed] of its bytecode.
    static final String FUNCTION = PREFIX + "function";
    /// A random generator: a [Typed] of its bytes.
    static final String GENERATOR = PREFIX + TorchClass.GENERATOR;

    /// The attribute of a [TypedMap] or [Typed] that is an object: the version of its class.
    static final String VERSION = "version";
    /// The version of objects that were written before there were versions.
    static final long NO_VERSION = 0;

    /// The attribute of a function for its first value in the file.
    static final String TAG = "tag";
    /// The attribute of a function that holds its upvalues.
    static final String UPVALUES = "upvalues";

    /// The stride of a tensor without elements on a separate storage without elements. Such a tensor of another stride
    /// has no storage in Torch7.
    static final long STRIDE_ON_STORAGE = 0;

    private NodeNames() {}

    /// {@return the version of a class without a recorded one}
    ///
    /// @param className its name in Torch7
    static long usualVersion(String className) {
        return TdsClass.find(className).isPresent() ? TdsClass.VERSION : 1;
    }
}
