package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;

/// A part of a file that cannot be used: its bytes do not match their checksum, it breaks a rule of the format, or its
/// bytes are in another file that is missing. The texts are safe to print: see [FormatException#printable].
///
/// @param where what is hit, for instance `tensor model/wte.weight` or `record archive/data/3`
/// @param offset first byte of the damaged range in the file
/// @param length bytes in the damaged range
/// @param code the short upper-case word that programs may compare, as of [FormatException#code]
/// @param what what was expected and what was found
/// @param remedy what to do about it
public record Damage(String where, long offset, long length, String code, String what, Remedy remedy) {
    /// Makes the texts safe to print.
    public Damage {
        where = FormatException.printable(where);
        what = FormatException.printable(what);
    }

    /// {@return bytes that the system cannot read, which may be intact on another disk}
    ///
    /// @param where what is hit
    /// @param offset the first byte that cannot be read, or [FormatException#NO_OFFSET]
    /// @param length bytes in the range that is not read
    public static Damage unread(String where, long offset, long length) {
        return of(where, length, new FormatException("READ-ERROR", "read error", offset,
                "Check the disk, then take the file from a backup"));
    }

    /// {@return what a fault damages}
    ///
    /// @param where what is hit
    /// @param length bytes in the damaged range, which begins where the fault is
    /// @param fault the fault
    public static Damage of(String where, long length, FormatException fault) {
        return new Damage(where, fault.offset(), length, fault.code(), fault.what(), fault.remedy());
    }
}
