package io.undercroft.format.internal.index;

import io.undercroft.format.Digest128;
import java.util.UUID;

/// Where the fields of records go, one after the other, little-endian.
///
/// Each field comes with the name that `SPEC.md` gives it. A file has no use for the names; an annotated dump shows
/// them. So a dump says what the code that writes files takes each byte for.
public interface FieldWriter {
    /// Writes the low 8 bits of a number.
    void u8(String name, int value);

    /// Writes the low 16 bits of a number.
    void u16(String name, int value);

    /// Writes 32 bits.
    void u32(String name, int value);

    /// Writes 64 bits.
    void u64(String name, long value);

    /// Writes a digest, its low half first.
    void digest(String name, Digest128 digest);

    /// Writes an id, its bytes in the order of its text.
    void uuid(String name, UUID uuid);

    /// Writes bytes as they are.
    void bytes(String name, byte[] bytes);

    /// Writes zeros.
    void zeros(String name, int count);
}
