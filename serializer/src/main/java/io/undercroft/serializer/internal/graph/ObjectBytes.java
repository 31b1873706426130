package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.KryoException;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import io.undercroft.serializer.internal.Lazy;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/// Objects of classes that are saved field by field: their plain fields as bytes that Kryo makes and reads.
///
/// Plain fields hold numbers, strings and constants of registered enums. The values of other fields are nodes of the
/// tree, which the caller keeps. Equal values give equal bytes.
///
/// The bytes that are read are not trusted: they name registered classes only, take memory in proportion to their
/// length, and every error in them is a [FormatException] of the code `CROFT-OBJECT`.
///
/// Not thread-safe: make one for each save and each open.
final class ObjectBytes {
    private static final int FIRST_SIZE = 64;

    private final StateClasses classes;
    /// Created when it is first needed: most states need none, and loading its classes takes longer than saving a small
    /// state.
    private final Lazy<NodeKryo> kryo;

    /// Bytes of objects of registered classes.
    ///
    /// @param classes the registered classes
    ObjectBytes(StateClasses classes) {
        this.classes = classes;
        this.kryo = new Lazy<>(() -> new NodeKryo(classes));
    }

    /// {@return the bytes of the plain fields of an object}
    ///
    /// @param fields the fields for which [#isPlain] is true, by name
    byte[] of(Map<String, @Nullable Object> fields) {
        try (Output out = new Output(FIRST_SIZE, -1)) {
            out.writeVarInt(fields.size(), true);
            fields.forEach((name, value) -> {
                out.writeString(name);
                kryo.get().writeClassAndObject(out, value);
            });
            return out.toBytes();
        } finally {
            kryo.get().reset();
        }
    }

    /// {@return whether what a field holds is among the bytes of its object}
    ///
    /// @param value its value
    boolean isPlain(@Nullable Object value) {
        return switch (value) {
            case null -> true;
            case String _,Boolean _,Character _,Byte _,Short _,Integer _,Long _,Float _,Double _ -> true;
            case Enum<?> constant -> classes.name(constant.getDeclaringClass()).isPresent();
            default -> false;
        };
    }

    /// {@return the saved values of the fields of an object, by name}
    ///
    /// @param type a registered class
    /// @param bytes the bytes of its plain fields
    /// @param children the values of the other fields
    /// @throws FormatException if the bytes are not those of fields, or a field comes twice
    SequencedMap<String, @Nullable Object> fields(Class<?> type, byte[] bytes,
            Map<String, ? extends @Nullable Object> children) {
        SequencedMap<String, @Nullable Object> values = read(type, bytes, in -> {
            SequencedMap<String, @Nullable Object> plain = new LinkedHashMap<>();
            for (int left = in.readVarInt(true); left != 0; left--) {
                put(plain, String.valueOf(in.readString()), kryo.get().readClassAndObject(in));
            }
            return plain;
        });
        children.forEach((name, child) -> put(values, name, child));
        return values;
    }

    private static void put(Map<String, @Nullable Object> values, String name, @Nullable Object value) {
        if (values.containsKey(name)) {
            throw ObjectFaults.damaged("has the field " + FormatException.quote(name) + " twice");
        }
        values.put(name, value);
    }

    private <T> T read(Class<?> type, byte[] bytes, Function<BoundedInput, T> body) {
        try (BoundedInput in = new BoundedInput(bytes)) {
            T read = body.apply(in);
            if (in.left() > 0) {
                throw ObjectFaults.damaged("has bytes after the end of a value of type " + type.getName());
            }
            return read;
        } catch (FormatException e) {
            throw e;
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
            throw ObjectFaults.failed("cannot be read as a value of type " + type.getName(),
                    e instanceof KryoException && e.getCause() != null ? e.getCause() : e);
        } finally {
            kryo.get().reset();
        }
    }
}
