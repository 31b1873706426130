package io.undercroft.mmap;

/// A text is no handle. The message is one line: the text, what is wrong with it, and what to do.
public final class HandleFormatException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;
    private static final int SHOWN = 80;

    /// Describes the text.
    ///
    /// @param text the whole text; its start is shown
    /// @param what what is wrong with it, without a full stop
    HandleFormatException(String text, String what) {
        super("'" + shown(text, SHOWN) + "' is no handle: " + shown(what, 2 * SHOWN)
                + "; hand over what toString() of a handle gives");
    }

    private static String shown(String text, int length) {
        String start = text.length() > length ? text.substring(0, length) + "…" : text;
        return start.replaceAll("\\p{Cntrl}", "?");
    }
}
