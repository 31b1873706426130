package io.undercroft.adapters;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.serializer.StateCodec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// A codec for objects of a class for which a program has a serializer of Kryo, so that they are saved in a checkpoint
/// without other code.
///
/// ```java
/// Kryo kryo = new Kryo();
/// TensorSerializers.register(kryo);
/// kryo.register(Vocabulary.class, new VocabularySerializer(), 100);
/// StateClasses classes = StateClasses.of().with(Vocabulary.class, new KryoCodec<>(kryo, Vocabulary.class));
/// ```
///
/// An object has two parts. `tensors` is the list of the tensors and storages in it, which have names, share storages
/// with the rest of the state, and are read by other programs like any other tensor; this needs [TensorSerializers],
/// and objects without tensors do not. `bytes` is everything else: only the same serializers read it, and other objects
/// that it shares with the rest of the state are copied. Save what other programs should see by a record, by fields or
/// by a codec of its own.
///
/// **Evolution.** The bytes contain what Kryo writes, also the ids of registered classes: a file can be read as long
/// as the serializers understand what they wrote and the ids are the same.
///
/// **Hostile files** cannot choose classes, since the Kryo has to require registration. Kryo allocates the lengths that
/// it reads before it reads as many bytes, however, so that opening objects of such a class from a file of unknown
/// origin may need much memory. Damaged bytes are reported as a
/// [FormatException][io.undercroft.format.FormatException] with the path of the object.
///
/// **Threads.** Several threads may use a codec; they wait for each other. The Kryo belongs to the codec from then on,
/// or to several codecs, which then wait for each other as well; the program must not use it meanwhile.
///
/// @param <T> the class of the objects
public final class KryoCodec<T> implements StateCodec<T> {
    private static final String BYTES = "bytes";
    private static final String TENSORS = "tensors";
    private static final int FIRST_SIZE = 256;

    private final Kryo kryo;
    private final Class<T> type;

    /// Creates a codec.
    ///
    /// @param kryo the Kryo whose serializers write and read the objects
    /// @param type the class of the objects, as it is registered with Kryo
    /// @throws IllegalArgumentException if the class is not registered with Kryo, or Kryo does not require that classes
    ///     are registered
    public KryoCodec(Kryo kryo, Class<T> type) {
        if (!kryo.isRegistrationRequired()) {
            throw new IllegalArgumentException(
                    "a file could choose the classes that are made: call setRegistrationRequired(true) on the Kryo");
        }
        this.kryo = kryo;
        this.type = Objects.requireNonNull(type, "type");
        kryo.getRegistration(type);
    }

    @Override
    public SequencedMap<String, ? extends @Nullable Object> encode(T object) {
        List<@Nullable Object> tensors = new ArrayList<>();
        SequencedMap<String, Object> parts = new LinkedHashMap<>();
        synchronized (kryo) {
            try (Output output = new Output(FIRST_SIZE, -1)) {
                TensorSerializers.exchange(kryo, tensors);
                kryo.writeObject(output, object);
                parts.put(BYTES, output.toBytes());
            } finally {
                kryo.reset();
            }
        }
        parts.put(TENSORS, tensors);
        return parts;
    }

    @Override
    public T decode(SequencedMap<String, @Nullable Object> parts) {
        if (!(parts.get(BYTES) instanceof byte[] bytes) || !(parts.get(TENSORS) instanceof List<?> tensors)) {
            throw new IllegalArgumentException("there are no bytes of Kryo, or no list of tensors");
        }
        synchronized (kryo) {
            try (Input input = new Input(bytes)) {
                TensorSerializers.exchange(kryo, new ArrayList<>(tensors));
                T object = kryo.readObject(input, type);
                if (input.position() < input.limit()) {
                    throw new IllegalArgumentException("there are bytes after the end of the object");
                }
                return object;
            } finally {
                kryo.reset();
            }
        }
    }
}
