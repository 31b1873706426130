package io.undercroft.serializer.internal.graph;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.Registration;
import com.esotericsoftware.kryo.Serializer;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import com.esotericsoftware.kryo.serializers.ImmutableSerializer;
import com.esotericsoftware.kryo.util.DefaultClassResolver;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.StateClasses;
import java.util.Arrays;
import java.util.function.BiConsumer;
import java.util.function.Function;

/// Kryo for the plain fields of one object at a time: numbers, texts and constants of registered enums. It never looks
/// for a class that is not registered. Not thread-safe.
final class NodeKryo extends Kryo {
    private final StateClasses classes;

    NodeKryo(StateClasses classes) {
        super(new Names(classes), null);
        this.classes = classes;
        setRegistrationRequired(true);
        setAutoReset(false);
        // Kryo's own would lose the bits of a NaN.
        register(float.class, serializer((out, value) -> out.writeInt(Float.floatToRawIntBits(value)),
                in -> Float.intBitsToFloat(in.readInt())));
        register(double.class, serializer((out, value) -> out.writeLong(Double.doubleToRawLongBits(value)),
                in -> Double.longBitsToDouble(in.readLong())));
    }

    private static <T> Serializer<T> serializer(BiConsumer<Output, T> writer, Function<Input, T> reader) {
        return new ImmutableSerializer<>() {
            @Override
            public void write(Kryo kryo, Output out, T value) {
                writer.accept(out, value);
            }

            @Override
            public T read(Kryo kryo, Input in, Class<? extends T> type) {
                return reader.apply(in);
            }
        };
    }

    /// Writes constants by name, as their order may change.
    private static Serializer<Enum<?>> constants(Class<?> type) {
        return serializer((out, constant) -> out.writeString(constant.name()), in -> {
            String name = in.readString();
            return (Enum<?>) Arrays.stream(type.getEnumConstants())
                    .filter(constant -> ((Enum<?>) constant).name().equals(name)).findFirst()
                    .orElseThrow(() -> ObjectFaults.changed(
                            "has the constant " + FormatException.quote(String.valueOf(name)) + ", which "
                                    + type.getName() + " does not have",
                            "Add it to the enum, or open the file with the enum that saved it"));
        });
    }

    /// Kryo calls this for every class, whether it writes or reads.
    @Override
    @SuppressWarnings("rawtypes")
    public Registration getRegistration(Class type) {
        Class<?> declared = Enum.class.isAssignableFrom(type) && !type.isEnum() ? type.getSuperclass() : type;
        return declared.isEnum() && classes.name(declared).isPresent()
                ? new Registration(declared, constants(declared), DefaultClassResolver.NAME)
                : super.getRegistration(declared);
    }

    /// Writes registered enums by their names.
    private static final class Names extends DefaultClassResolver {
        private final StateClasses classes;

        Names(StateClasses classes) {
            this.classes = classes;
        }

        @Override
        @SuppressWarnings("rawtypes")
        protected void writeName(Output out, Class type, Registration registration) {
            out.writeByte(NAME + 2);
            out.writeString(classes.name(registration.getType()).orElseThrow());
        }

        @Override
        protected Registration readName(Input in) {
            String name = String.valueOf(in.readString());
            return kryo.getRegistration(classes.type(name).orElseThrow(() -> ObjectFaults.unknown(name)));
        }
    }
}
