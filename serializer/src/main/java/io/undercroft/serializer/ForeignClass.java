package io.undercroft.serializer;

import java.util.Objects;

/// A class or function of another language that a file names and that this library does not know, for instance
/// `torch.nn.modules.linear.Linear`. The class is not loaded or called. The state has the data of its objects that are
/// in the file, as a [TypedMap][io.undercroft.serializer.state.TypedMap].
///
/// @param name the full name; `module:Outer.Inner` for a nested class
/// @param objects the number of objects of the class in the file; 0 if the file only names it
/// @param isDangerous whether a program that loads the class would run commands or code that a state does not need, so
///     that the file may be an attack
public record ForeignClass(String name, long objects, boolean isDangerous) {
    /// Checks the number.
    ///
    /// @throws IllegalArgumentException if the number is negative
    public ForeignClass {
        Objects.requireNonNull(name, "name");
        if (objects < 0) {
            throw new IllegalArgumentException(objects + " objects of " + name);
        }
    }
}
