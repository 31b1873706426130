package io.undercroft.cli.internal;

import io.undercroft.serializer.UnreadPart;

/// Messages about parts of a file that its state does not contain.
public final class UnreadParts {
    private UnreadParts() {}

    /// {@return one line about a part, which may have text of the file in it}
    ///
    /// @param part the part
    public static String describe(UnreadPart part) {
        if (part.kind() == UnreadPart.Kind.FILE) {
            return part.what();
        }
        String way = part.setting() == null || part.kind() != UnreadPart.Kind.STATE
                ? ""
                : "; --set %s=N opens another one".formatted(part.setting());
        String place = part.nbytes() == 0
                ? ""
                : ", %s at byte 0x%X".formatted(Text.bytes(part.nbytes()), part.offset());
        return part.what() + place + way;
    }
}
