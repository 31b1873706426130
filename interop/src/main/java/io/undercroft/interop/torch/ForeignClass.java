package io.undercroft.interop.torch;

/// The name of a tensor subclass: a label that is carried into [io.undercroft.serializer.state.Typed] and refused
/// everywhere else. No class is ever looked up by it.
///
/// @param name module and class
record ForeignClass(String name) {
    private static final int LONGEST = 256;

    static ForeignClass of(String module, String name) {
        String full = module + "." + name;
        if (!isName(full)) {
            throw Refused.global(full);
        }
        return new ForeignClass(full);
    }

    /// {@return whether a text may be the full name of a class}
    static boolean isName(String full) {
        return full.length() <= LONGEST && full.indexOf('.') > 0 && !full.endsWith(".")
                && full.codePoints().allMatch(ForeignClass::isPlain);
    }

    private static boolean isPlain(int c) {
        return c == '.' || (Character.isUnicodeIdentifierPart(c) && !Character.isIdentifierIgnorable(c));
    }
}
