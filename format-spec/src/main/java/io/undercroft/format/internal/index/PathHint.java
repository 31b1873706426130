package io.undercroft.format.internal.index;

/// The form of the paths by which a file names others.
public final class PathHint {
    private PathHint() {}

    /// {@return whether a path is relative and leads nowhere but down} Its parts are POSIX names, so one may have a
    /// character that leads elsewhere on another system: readers there refuse it when they look for the
    /// file.
    ///
    /// @param path any text
    public static boolean isValid(String path) {
        if (path.indexOf('\0') >= 0) {
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
