package io.undercroft.interop.torch;

/// The name of a tensor subclass: a label that is carried into [io.undercroft.serializer.state.Typed] and refused
/// everywhere else. No class is ever looked up by it.
///
/// @param name module and class
record ForeignClass(String name) {
    private static final int LONGEST = 256;

    static ForeignClass of(String module, String name) {
        String full = module + "." + name;
        boolean plain = full.length() <= LONGEST && full.codePoints().allMatch(ForeignClass::isPlain);
        if (!plain) {
            throw Refused.global(full);
        }
        return new ForeignClass(full);
    }

    private static boolean isPlain(int c) {
        return c == '.' || (Character.isUnicodeIdentifierPart(c) && !Character.isIdentifierIgnorable(c));
    }
}
