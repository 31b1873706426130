package io.undercroft.adapters;

import io.undercroft.serializer.StateCodec;
import io.undercroft.storage.Storage;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.function.Supplier;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesMarshallable;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/// A codec for objects of a class that writes itself to Chronicle Bytes, so that they are saved in a checkpoint as they
/// are sent.
///
/// ```java
/// StateClasses classes = StateClasses.of().with(Quote.class, new BytesMarshallableCodec<>(Quote::new));
/// ```
///
/// An object has one part, `bytes`, which is what `writeMarshallable` writes: a value of the state if it is small, and
/// a storage if it is larger, which may have more than 2 GiB and is neither copied when it is saved nor when it is
/// read. Only the same class reads it; save what other programs should see by a record, by fields or by a codec of its
/// own.
///
/// **Evolution.** A file can be read as long as `readMarshallable` understands what was written. Chronicle's own
/// implementation writes all fields in their order, without names; on JDK 25 it needs
/// `--add-opens=java.base/java.lang.reflect=ALL-UNNAMED` for fields that are not public.
///
/// **Hostile files** cannot choose classes: these follow from the class. Bytes that end too early, that are left over
/// or that the class refuses are reported as a [FormatException][io.undercroft.format.FormatException] with the path of
/// the object. Chronicle compares the lengths of arrays, lists and maps with the bytes that are there, but for a field
/// of the type `Bytes` it allocates the length that it reads: opening objects of a class with one from a file of
/// unknown origin may need up to 2 GiB.
///
/// **Threads.** Several threads may use a codec.
///
/// @param <T> the class of the objects
public final class BytesMarshallableCodec<T extends BytesMarshallable> implements StateCodec<T> {
    private static final String BYTES = "bytes";
    /// What is longer is saved as a storage.
    private static final long LONGEST_VALUE = 1 << 16;

    private final Supplier<T> factory;

    /// Creates a codec.
    ///
    /// @param factory makes an object, whose fields [BytesMarshallable#readMarshallable] then sets
    public BytesMarshallableCodec(Supplier<T> factory) {
        this.factory = Objects.requireNonNull(factory, "factory");
    }

    @Override
    public SequencedMap<String, ? extends @Nullable Object> encode(T object) {
        Bytes<?> bytes = Bytes.allocateElasticDirect();
        try {
            object.writeMarshallable(bytes);
            long length = bytes.writePosition();
            SequencedMap<String, Object> parts = new LinkedHashMap<>();
            parts.put(BYTES, length <= LONGEST_VALUE
                    ? bytes.toByteArray()
                    : BytesStores.storage(bytes.bytesStore(), length));
            return parts;
        } finally {
            bytes.releaseLast();
        }
    }

    @Override
    public T decode(SequencedMap<String, @Nullable Object> parts) {
        return switch (parts.get(BYTES)) {
            case byte[] bytes -> read(Bytes.wrapForRead(bytes));
            case Storage storage -> read(storage.segment());
            case null, default -> throw new IllegalArgumentException("there are no bytes");
        };
    }

    private T read(MemorySegment memory) {
        if (!memory.isNative() || memory.byteSize() == 0) {
            return read(Bytes.wrapForRead(memory.toArray(ValueLayout.JAVA_BYTE)));
        }
        BytesStore<?, Void> store = BytesStores.view(memory, () -> {});
        try {
            return read(store.bytesForRead());
        } finally {
            store.releaseLast();
        }
    }

    private T read(Bytes<?> bytes) {
        T object = factory.get();
        try {
            object.readMarshallable(bytes);
            if (bytes.readRemaining() > 0) {
                throw new IllegalArgumentException("there are bytes after the end of the object");
            }
            return object;
        } catch (AssertionError e) {
            throw new IllegalArgumentException("the bytes are not those of an object: " + e.getMessage(), e);
        } finally {
            bytes.releaseLast();
        }
    }
}
