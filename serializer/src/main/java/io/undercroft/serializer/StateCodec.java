package io.undercroft.serializer;

import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// A conversion of objects of a class to named parts and back, for a class whose fields should not be saved as they
/// are.
///
/// ```java
/// class PatternCodec implements StateCodec<Pattern> {
///     public SequencedMap<String, Object> encode(Pattern pattern) {
///         SequencedMap<String, Object> parts = new LinkedHashMap<>();
///         parts.put("regex", pattern.pattern());
///         parts.put("flags", pattern.flags());
///         return parts;
///     }
///
///     public Pattern decode(SequencedMap<String, Object> parts) {
///         return Pattern.compile((String) parts.get("regex"), (int) parts.get("flags"));
///     }
/// }
///
/// StateClasses classes = StateClasses.of(Trainer.class).with(Pattern.class, new PatternCodec());
/// ```
///
/// **Parts** are saved as the components of a record are: a part may be anything that a state may hold (plain values,
/// tensors, containers, objects of registered classes), each has its name as a path in the state, and every program
/// that reads the file sees them, in any language.
///
/// **Sharing and cycles.** [#encode] is called once for each object, however many places it is in, and the object comes
/// back as one. A container, tensor or object that is also elsewhere in the state stays shared if the codec passes the
/// object itself and not a copy. An object is made after its parts. An object that contains itself can be restored only
/// if a list, map or object of a class without a codec is part of the cycle, since only these can exist before their
/// contents; otherwise it is refused when it is saved. In such a cycle a list or map among the parts may still be empty
/// when [#decode] is called.
///
/// **Evolution.** A codec has to read what its former versions wrote: it may test which parts are present. An
/// [upgrader][StateClasses#upgrading] changes the parts before. Parts have the same form as components of records and
/// fields of other classes, so a class may get or lose its codec, and become a record, and its old files still open.
///
/// A codec is stateless and may be called by several threads at once. What it throws is reported with
/// the path of the object: as an `IllegalArgumentException` when saving, as a
/// [FormatException][io.undercroft.format.FormatException] when opening.
///
/// @param <T> the class of the objects
public interface StateCodec<T> {
    /// Converts an object to named parts.
    ///
    /// @param object an object of exactly the class that the codec was registered with
    /// @return the parts by name, in the order in which they are saved; not kept
    SequencedMap<String, ? extends @Nullable Object> encode(T object);

    /// Makes an object from its parts.
    ///
    /// @param parts the parts by name, as they were saved; a number may have another width in files of other programs
    /// @return a new object
    T decode(SequencedMap<String, @Nullable Object> parts);
}
