package io.undercroft.mmap;

import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.internal.Constant;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/// What shared memory may be called.
final class SharedMemoryNames {
    private static final int SHOWN_LENGTH = 80;

    private SharedMemoryNames() {}

    /// {@return the name without its slash}
    ///
    /// @param name a name, with or without a slash in front
    /// @throws SharedMemoryException if it is not valid
    static String plain(String name) throws SharedMemoryException {
        String plain = Objects.requireNonNull(name, "name").startsWith("/") ? name.substring(1) : name;
        int length = plain.getBytes(StandardCharsets.UTF_8).length;
        int limit = Constant.SHM_NAME_MAX;
        if (plain.isEmpty() || plain.equals(".") || plain.equals("..")) {
            throw bad(name, "it has to name something; use a word such as weights");
        }
        if (plain.indexOf('/') >= 0 || hasControl(plain)) {
            throw bad(name, "it may have one slash, in front, and no NUL or other control character");
        }
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(plain)) {
            throw bad(name, "it has half of a surrogate pair, which is no text");
        }
        if (length > limit) {
            throw bad(name, "it has " + length + " bytes and may have " + limit);
        }
        if (plain.startsWith("undercroft-") && plain.matches("undercroft-\\d+(-[0-9a-z]{1,13})?")) {
            throw bad(name, "it is that of the directory where a user's segments are registered; use another");
        }
        return plain;
    }

    private static boolean hasControl(String name) {
        for (int i = 0; i < name.length(); i++) {
            if (Character.isISOControl(name.charAt(i))) {
                return true;
            }
        }
        return false;
    }

    private static SharedMemoryException bad(String name, String rule) {
        String shown = name.substring(0, Math.min(name.length(), SHOWN_LENGTH)).replaceAll("\\p{Cntrl}", "?");
        return new SharedMemoryException(Reason.BAD_NAME, "'" + shown + "' is no name for shared memory: " + rule,
                null);
    }
}
