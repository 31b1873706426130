package io.undercroft.serializer;

import java.util.Objects;

/// A class or function of another language that a file names and that this library does not know, for instance
/// `torch.nn.modules.linear.Linear`. Nothing was looked up, loaded or called for it: of its objects, the state contains
/// what the file says of them, as a [TypedMap][io.undercroft.serializer.state.TypedMap].
///
/// @param name its full name; for a class in a class `module:Outer.Inner`
/// @param objects the number of objects that the file makes with it; 0 if the file only names it
/// @param isDangerous whether a program that loads the file with the classes it names would run commands, code or
///     something else that a state does not need: the file may have been made to attack it
public record ForeignClass(String name, long objects, boolean isDangerous) {
    /// A class.
    ///
    /// @throws IllegalArgumentException if the number is negative
    public ForeignClass {
        Objects.requireNonNull(name, "name");
        if (objects < 0) {
            throw new IllegalArgumentException(objects + " objects of " + name);
        }
    }
}
