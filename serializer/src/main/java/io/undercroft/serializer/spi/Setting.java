package io.undercroft.serializer.spi;

import java.util.Objects;

/// An option of a format or a store that a user may set. An option for opening and for saving is two settings of the
/// same name.
///
/// @param name the name: that of the format or of its family, a dot, and a name, for instance `torch7.longs`; formats
///     of one family may share settings
/// @param use when the setting is used
/// @param values a description of the values for people, the default first: `stored, deflate`
public record Setting(String name, Use use, String values) {
    /// When a setting is used.
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
    /// @param name the name
    /// @param use when the setting is used
    /// @param values a description of the values for people, the default first
    public Setting {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(use, "use");
        Objects.requireNonNull(values, "values");
    }

    /// {@return a setting for opening files}
    ///
    /// @param name the name
    /// @param values a description of the values for people, the default first
    public static Setting ofOpening(String name, String values) {
        return new Setting(name, Use.OPENING, values);
    }

    /// {@return a setting for writing files}
    ///
    /// @param name the name
    /// @param values a description of the values for people, the default first
    public static Setting ofWriting(String name, String values) {
        return new Setting(name, Use.WRITING, values);
    }
}
