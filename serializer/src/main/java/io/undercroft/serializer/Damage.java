package io.undercroft.serializer;

import io.undercroft.format.FormatException;

/// A part of a file that does not match its checksum. The texts are safe to print: see [FormatException#printable].
///
/// @param where what is hit, for instance `tensor model/wte.weight` or `record archive/data/3`
/// @param offset first byte of the damaged range in the file
/// @param length bytes in the damaged range
/// @param what what was expected and what was found
public record Damage(String where, long offset, long length, String what) {
    /// Makes the texts safe to print.
    public Damage {
        where = FormatException.printable(where);
        what = FormatException.printable(what);
    }
}
