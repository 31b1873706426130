package io.undercroft.serializer.spi;

import java.util.Objects;

/// An option of a format that a user may set, for what a file does not define or a writer may choose. A
/// setting that counts in both cases is two of these, with the same name.
///
/// @param name what the user calls it: the name of the format or of its family, a dot, and a name, for instance
///     `torch7.longs`; formats of one family may have the same
/// @param use when it counts
/// @param values what it may be, the default first, in words for people: `stored, deflate`
public record Setting(String name, Use use, String values) {
    /// When a setting counts.
    public enum Use {
        /// When a file is opened: [CheckpointFormat#open] finds it in
        /// [the options][io.undercroft.serializer.OpenOptions#setting(String)].
        OPENING,
        /// When a file is written: [CheckpointFormat#draft] finds it in
        /// [the options][io.undercroft.serializer.SaveOptions#setting(String)].
        WRITING
    }

    /// A setting.
    ///
    /// @param name what the user calls it
    /// @param use when it counts
    /// @param values what it may be
    public Setting {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(use, "use");
        Objects.requireNonNull(values, "values");
    }

    /// {@return a setting for opening files}
    ///
    /// @param name what the user calls it
    /// @param values what it may be
    public static Setting ofOpening(String name, String values) {
        return new Setting(name, Use.OPENING, values);
    }

    /// {@return a setting for writing files}
    ///
    /// @param name what the user calls it
    /// @param values what it may be
    public static Setting ofWriting(String name, String values) {
        return new Setting(name, Use.WRITING, values);
    }
}
