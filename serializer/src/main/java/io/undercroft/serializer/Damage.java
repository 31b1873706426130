package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.format.Remedy;

/// A part of a file that cannot be used: its bytes do not match their checksum, it breaks a rule of the format, or its
/// bytes are in another file that is missing. The texts are safe to print: see [FormatException#printable].
///
/// @param where the damaged part, for instance `tensor model/wte.weight` or `record archive/data/3`
/// @param offset the offset of the damaged range in the file
/// @param length the size of the damaged range in bytes
/// @param code the code for programs, as [FormatException#code]
/// @param what the expected and the actual contents
/// @param remedy the remedy
public record Damage(String where, long offset, long length, String code, String what, Remedy remedy) {
    /// Makes the texts safe to print.
    public Damage {
        where = FormatException.printable(where);
        what = FormatException.printable(what);
    }

    /// {@return the damage of bytes that the system cannot read, which may be intact on another disk}
    ///
    /// @param where the damaged part
    /// @param offset the first byte that cannot be read, or [FormatException#NO_OFFSET]
    /// @param length the size of the range that was not read, in bytes
    public static Damage unread(String where, long offset, long length) {
        return of(where, length, new FormatException("READ-ERROR", "read error", offset,
                "Check the disk, then take the file from a backup"));
    }

    /// {@return the damage of a fault}
    ///
    /// @param where the damaged part
    /// @param length the size of the damaged range, which begins at the fault, in bytes
    /// @param fault the fault
    public static Damage of(String where, long length, FormatException fault) {
        return new Damage(where, fault.offset(), length, fault.code(), fault.what(), fault.remedy());
    }
}
