package io.undercroft.interop.torch;

/// The name of a tensor subclass: a label that is carried into [io.undercroft.serializer.state.Typed] and refused
/// everywhere else. No class is ever looked up by it.
///
/// @param name module, dot and class; for a class in a class `module:Outer.Inner`, as the dots do not show where the
///     module ends
record ForeignClass(String name) {
    /// What precedes the name of a class in a class.
    static final char NESTED = ':';

    private static final int LONGEST = 256;

    static ForeignClass of(String module, String name) {
        String full = module + (name.indexOf('.') < 0 ? '.' : NESTED) + name;
        if (module.indexOf(NESTED) >= 0 || name.indexOf(NESTED) >= 0 || !isName(full)) {
            throw PickleFault.global(full);
        }
        return new ForeignClass(full);
    }

    /// {@return whether a text may be the full name of a class}
    static boolean isName(String full) {
        int nested = full.indexOf(NESTED);
        return full.length() <= LONGEST && hasDot(full.substring(nested + 1))
                && (nested < 0 || isPath(full.substring(0, nested)));
    }

    private static boolean hasDot(String text) {
        return text.indexOf('.') >= 0 && isPath(text);
    }

    /// {@return whether these are words with dots between them}
    private static boolean isPath(String text) {
        return !text.isEmpty() && !text.startsWith(".") && !text.endsWith(".")
                && text.codePoints().allMatch(ForeignClass::isPlain);
    }

    private static boolean isPlain(int c) {
        return c == '.' || (Character.isUnicodeIdentifierPart(c) && !Character.isIdentifierIgnorable(c));
    }
}
