package io.undercroft.format.internal;

/// The form of the paths by which a file names others.
public final class PathHint {
    private PathHint() {}

    /// {@return whether a path is relative, leads nowhere but down, and means the same on every system}
    ///
    /// @param path any text
    public static boolean isValid(String path) {
        if (path.chars().anyMatch(c -> c < ' ' || c == '\\' || c == ':')) {
            return false;
        }
        for (String part : path.split("/", -1)) {
            if (part.isEmpty() || part.equals(".") || part.equals("..")) {
                return false;
            }
        }
        return true;
    }
}
