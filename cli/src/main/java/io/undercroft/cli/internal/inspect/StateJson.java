package io.undercroft.cli.internal.inspect;

import com.fasterxml.jackson.core.JsonGenerator;
import io.undercroft.cli.internal.Json;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.serializer.state.Symbol;
import io.undercroft.serializer.state.Tuple;
import io.undercroft.serializer.state.Typed;
import io.undercroft.serializer.state.TypedMap;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.TypedStorage;
import java.io.IOException;
import java.math.BigInteger;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// The state tree as JSON. What JSON has no notation for is an object whose first key begins with `$`.
///
/// It recurses, which is safe: [StateIndex] has refused states that nest deeper than [StateIndex#MAX_DEPTH] before this
/// runs, and keys of maps, which it does not walk, have at most [StateKeys#MAX_PARTS] parts.
final class StateJson {
    private final Inspection inspection;
    private final JsonGenerator json;
    private final Set<Object> written;

    /// @param inspection names of what the state holds
    /// @param json the destination
    /// @param written an empty set, which then has the containers that were written, by identity
    StateJson(Inspection inspection, JsonGenerator json, Set<Object> written) {
        this.inspection = inspection;
        this.json = json;
        this.written = written;
    }

    void write(@Nullable Object value) throws IOException {
        switch (value) {
            case null -> json.writeNull();
            case Boolean truth -> json.writeBoolean(truth);
            case String text -> json.writeString(text);
            case Double number -> Json.writeDouble(json, number);
            case Float number -> Json.writeDouble(json, number);
            case BigInteger integer -> json.writeNumber(integer);
            case Number integer -> json.writeNumber(integer.longValue());
            case byte[] bytes -> writeBytes(bytes);
            case Complex number -> Json.writeComplex(json, number);
            case DType dtype -> writeTagged("$dtype", dtype.name());
            case Device device -> writeTagged("$device", device.toString());
            case Symbol symbol -> writeTagged("$symbol", symbol.name());
            case Shape shape -> writeShape(shape);
            case Tensor tensor -> writeTagged("$tensor", inspection.index().nameOf(tensor));
            case Storage storage -> writeStorage(storage, null);
            case TypedStorage typed -> writeStorage(typed.untyped(), typed.dtype());
            default -> writeContainer(value);
        }
    }

    private void writeContainer(Object container) throws IOException {
        if (!written.add(container)) {
            writeTagged("$ref", inspection.index().pathOf(container));
            return;
        }
        switch (container) {
            case TypedMap map -> writeMap(map, map.type(), map.attributes());
            case Map<?, ?> map -> writeMap(map, null, Map.of());
            case Tuple tuple -> writeTaggedArray("$tuple", tuple);
            case Set<?> set -> writeTaggedArray("$set", set);
            case List<?> list -> writeArray(list);
            case Typed typed -> writeTyped(typed);
            default -> throw new IllegalArgumentException("a state cannot hold a " + container.getClass().getName());
        }
    }

    private void writeMap(Map<?, ?> map, @Nullable String type, Map<String, ?> attributes) throws IOException {
        json.writeStartObject();
        if (type != null) {
            json.writeStringField("$type", type);
        }
        if (allMatch(map.keySet(), String.class::isInstance)) {
            writeEntries(map);
        } else if (allMatch(map.keySet(), StateJson::isInteger)) {
            json.writeStringField("$keys", "int");
            writeEntries(map);
        } else {
            json.writeArrayFieldStart("$map");
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                json.writeStartArray();
                writeKey(entry.getKey());
                write(entry.getValue());
                json.writeEndArray();
            }
            json.writeEndArray();
        }
        writeAttributes(attributes);
        json.writeEndObject();
    }

    /// Tuples in keys have no path to refer to, so they are written out wherever they are.
    private void writeKey(@Nullable Object key) throws IOException {
        if (!(key instanceof Tuple tuple)) {
            write(key);
            return;
        }
        json.writeStartObject();
        json.writeArrayFieldStart("$tuple");
        for (Object element : tuple) {
            writeKey(element);
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void writeTyped(Typed typed) throws IOException {
        json.writeStartObject();
        json.writeStringField("$type", typed.type());
        json.writeFieldName("$value");
        write(typed.value());
        writeAttributes(typed.attributes());
        json.writeEndObject();
    }

    private void writeAttributes(Map<String, ?> attributes) throws IOException {
        if (!attributes.isEmpty()) {
            json.writeObjectFieldStart("$attributes");
            writeEntries(attributes);
            json.writeEndObject();
        }
    }

    private void writeEntries(Map<?, ?> map) throws IOException {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            String key = String.valueOf(entry.getKey());
            json.writeFieldName(key.startsWith("$") ? "$" + key : key);
            write(entry.getValue());
        }
    }

    private void writeArray(Collection<?> elements) throws IOException {
        json.writeStartArray();
        // No iterator for nothing: there may be half a million empty lists.
        if (!elements.isEmpty()) {
            for (Object element : elements) {
                write(element);
            }
        }
        json.writeEndArray();
    }

    private void writeTaggedArray(String tag, Collection<?> elements) throws IOException {
        json.writeStartObject();
        json.writeFieldName(tag);
        writeArray(elements);
        json.writeEndObject();
    }

    private void writeTagged(String tag, @Nullable String value) throws IOException {
        json.writeStartObject();
        json.writeStringField(tag, value);
        json.writeEndObject();
    }

    private void writeStorage(Storage storage, @Nullable DType dtype) throws IOException {
        json.writeStartObject();
        json.writeObjectField("$storage", inspection.idOf(storage));
        if (dtype != null) {
            json.writeStringField("dtype", dtype.name());
        }
        json.writeEndObject();
    }

    private void writeShape(Shape shape) throws IOException {
        json.writeStartObject();
        json.writeFieldName("$shape");
        json.writeArray(shape.toArray(), 0, shape.rank());
        json.writeEndObject();
    }

    private void writeBytes(byte[] bytes) throws IOException {
        json.writeStartObject();
        json.writeBinaryField("$bytes", bytes);
        json.writeEndObject();
    }

    /// There may be very many maps, and streams are large.
    private static boolean allMatch(Set<?> keys, Predicate<@Nullable Object> wanted) {
        for (Object key : keys) {
            if (!wanted.test(key)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isInteger(@Nullable Object key) {
        return key instanceof Number && !(key instanceof Double) && !(key instanceof Float);
    }
}
