package io.undercroft.cli.internal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.tree.StateKeys;
import io.undercroft.storage.Complex;
import java.io.IOException;
import java.io.Writer;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/// The JSON object that is being written, from its first member to its last. For use by one thread.
public final class Json {
    /// Up to three levels of JSON for one of a state, two for one of a key.
    private static final int DEEPEST = 3 * StateIndex.MAX_DEPTH + 2 * StateKeys.MAX_PARTS + 8;
    /// ASCII only: it survives every terminal and locale, and Python's strings may hold half characters that UTF-8 has
    /// no bytes for.
    private static final JsonFactory FACTORY = new JsonFactoryBuilder()
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .characterEscapes(new WithDelete())
            .streamWriteConstraints(StreamWriteConstraints.builder().maxNestingDepth(DEEPEST).build())
            .build();

    private final JsonGenerator generator;

    private Json(JsonGenerator generator) {
        this.generator = generator;
    }

    /// Writes the members of an object.
    @FunctionalInterface
    public interface Members {
        /// Writes all members.
        ///
        /// @param json the object
        /// @throws IOException if writing fails
        void write(Json json) throws IOException;
    }

    /// Writes the members of an object that describes something.
    ///
    /// @param <T> the type of the described value
    @FunctionalInterface
    public interface Description<T> {
        /// Writes all members.
        ///
        /// @param json the object
        /// @param described the described value
        /// @throws IOException if writing fails
        void write(Json json, T described) throws IOException;
    }

    /// Writes an object, an entry of the outer two levels a line. If that fails, half an object is left as it is.
    ///
    /// @param out the destination; stays open
    /// @param members writes its members
    /// @throws IOException if writing fails
    public static void write(Writer out, Members members) throws IOException {
        write(FACTORY.createGenerator(out).setPrettyPrinter(new LinePerEntry()), members);
    }

    /// Prints an object as [#write(Writer, Members)] does.
    ///
    /// @param out the destination
    /// @param members writes its members
    /// @throws IOException if `members` throws it
    public static void print(TextOutput out, Members members) throws IOException {
        write(out, members);
        out.line("");
    }

    /// Prints an object on one line.
    ///
    /// @param out the destination
    /// @param members writes its members
    /// @throws IOException if `members` throws it
    public static void printLine(TextOutput out, Members members) throws IOException {
        write(FACTORY.createGenerator(out), members);
        out.line("");
    }

    private static void write(JsonGenerator generator, Members members) throws IOException {
        writeValue(generator, json -> {
            generator.writeStartObject();
            members.write(json);
            generator.writeEndObject();
        });
    }

    /// Writes one value on one line. If that fails, half a value is left as it is.
    ///
    /// @param out the destination; stays open
    /// @param value writes it by the [generator][#generator]
    /// @throws IOException if writing fails
    public static void writeValue(Writer out, Members value) throws IOException {
        writeValue(FACTORY.createGenerator(out), value);
    }

    private static void writeValue(JsonGenerator generator, Members value) throws IOException {
        generator.disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
        value.write(new Json(generator));
        // Not closed on failure: that would complete half an object.
        generator.close();
    }

    /// {@return the writer of other values than those below}
    public JsonGenerator generator() {
        return generator;
    }

    /// Writes a member.
    ///
    /// @param name its name
    /// @param value a text, a number, a truth value or null
    /// @return this
    /// @throws IOException if writing fails
    public Json member(String name, @Nullable Object value) throws IOException {
        generator.writeObjectField(name, value);
        return this;
    }

    /// Writes a member whose value is an array of numbers.
    ///
    /// @param name its name
    /// @param numbers the numbers
    /// @return this
    /// @throws IOException if writing fails
    public Json numbers(String name, long... numbers) throws IOException {
        generator.writeFieldName(name);
        generator.writeArray(numbers, 0, numbers.length);
        return this;
    }

    /// Writes a floating-point number as the next value. A number that is not finite is written as an object, since
    /// JSON cannot represent it.
    ///
    /// @param generator the destination
    /// @param number the number
    /// @throws IOException if writing fails
    public static void writeDouble(JsonGenerator generator, double number) throws IOException {
        if (Double.isFinite(number)) {
            generator.writeNumber(number);
        } else {
            generator.writeStartObject();
            generator.writeStringField("$float", Double.isNaN(number) ? "nan" : number > 0 ? "inf" : "-inf");
            generator.writeEndObject();
        }
    }

    /// Writes a complex number as the next value.
    ///
    /// @param generator the destination
    /// @param number the number
    /// @throws IOException if writing fails
    public static void writeComplex(JsonGenerator generator, Complex number) throws IOException {
        generator.writeStartObject();
        generator.writeArrayFieldStart("$complex");
        writeDouble(generator, number.real());
        writeDouble(generator, number.imaginary());
        generator.writeEndArray();
        generator.writeEndObject();
    }

    /// Writes a member whose value is an array.
    ///
    /// @param name its name
    /// @param values texts or numbers
    /// @return this
    /// @throws IOException if writing fails
    public Json values(String name, Iterable<?> values) throws IOException {
        generator.writeArrayFieldStart(name);
        for (Object value : values) {
            generator.writeObject(value);
        }
        generator.writeEndArray();
        return this;
    }

    /// Writes a member whose value is an object.
    ///
    /// @param name its name
    /// @param members writes the members of the object
    /// @return this
    /// @throws IOException if writing fails
    public Json object(String name, Members members) throws IOException {
        generator.writeObjectFieldStart(name);
        members.write(this);
        generator.writeEndObject();
        return this;
    }

    /// Writes a member whose value is an object of texts.
    ///
    /// @param name its name
    /// @param texts its members
    /// @return this
    /// @throws IOException if writing fails
    public Json texts(String name, Map<String, String> texts) throws IOException {
        return object(name, json -> {
            for (Map.Entry<String, String> text : texts.entrySet()) {
                json.member(text.getKey(), text.getValue());
            }
        });
    }

    /// Writes a member whose value is an array of objects.
    ///
    /// @param <T> the type of the described values
    /// @param name its name
    /// @param described the described values, one for each object
    /// @param description writes the members of one
    /// @return this
    /// @throws IOException if writing fails
    public <T> Json list(String name, Iterable<T> described, Description<? super T> description) throws IOException {
        generator.writeArrayFieldStart(name);
        for (T each : described) {
            generator.writeStartObject();
            description.write(this, each);
            generator.writeEndObject();
        }
        generator.writeEndArray();
        return this;
    }

    /// JSON leaves the last control character of ASCII as it is.
    private static final class WithDelete extends CharacterEscapes {
        private static final long serialVersionUID = 1L;
        private static final int DELETE = 0x7f;

        @Override
        public int[] getEscapeCodesForAscii() {
            int[] escapes = standardAsciiEscapesForJSON();
            escapes[DELETE] = ESCAPE_STANDARD;
            return escapes;
        }

        @Override
        public @Nullable SerializableString getEscapeSequence(int character) {
            return null;
        }
    }

    /// Ends a line after each entry of the outer two levels, and writes everything else without white space.
    private static final class LinePerEntry extends MinimalPrettyPrinter {
        private static final long serialVersionUID = 1L;
        private static final int LEVELS = 2;

        @Override
        public void writeObjectEntrySeparator(JsonGenerator json) throws IOException {
            json.writeRaw(json.getOutputContext().getNestingDepth() <= LEVELS ? ",\n" : ",");
        }

        @Override
        public void writeArrayValueSeparator(JsonGenerator json) throws IOException {
            writeObjectEntrySeparator(json);
        }
    }
}
