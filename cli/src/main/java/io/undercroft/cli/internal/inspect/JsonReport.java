package io.undercroft.cli.internal.inspect;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.SerializableString;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.core.io.CharacterEscapes;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import io.undercroft.cli.internal.Output;
import io.undercroft.cli.internal.Sha256;
import io.undercroft.format.FormatException;
import io.undercroft.serializer.BaseFile;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.serializer.state.StateKeys;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// A file's contents as one JSON object, as `docs/inspect-json.md` describes it. Written while it is read, so that
/// memory does not grow with the number of tensors; a storage or tensor a line, so that lines can be compared.
public final class JsonReport {
    /// Up to three levels of JSON for one of the state, two for one of a key.
    private static final int DEEPEST = 3 * StateIndex.MAX_DEPTH + 2 * StateKeys.MAX_PARTS + 8;
    /// How many characters a report may have, and how many for each byte of its files.
    private static final long LEAST_LONG = 64L << 20;
    private static final long LONG_FACTOR = 64;
    /// ASCII only: it survives every terminal and locale, and Python's strings may hold half characters that UTF-8 has
    /// no bytes for.
    private static final JsonFactory JSON = new JsonFactoryBuilder()
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .characterEscapes(new WithDelete())
            .streamWriteConstraints(StreamWriteConstraints.builder().maxNestingDepth(DEEPEST).build())
            .build();

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

    private final Inspection inspection;
    private final JsonGenerator json;
    private final Set<Object> written;

    private JsonReport(Inspection inspection, JsonGenerator json, Set<Object> written) {
        this.inspection = inspection;
        this.json = json;
        this.written = written;
    }

    /// Writes the report.
    ///
    /// @param inspection the open file
    /// @param out where to
    /// @throws IOException if the file cannot be read
    public static void print(Inspection inspection, Output out) throws IOException {
        // Used for both passes, as a set of very many containers grows for long.
        Set<Object> written = Collections.newSetFromMap(new IdentityHashMap<>());
        checkLength(inspection, written);
        written.clear();
        JsonGenerator json = generator(out);
        // Not closed on failure: that would complete half an object.
        new JsonReport(inspection, json, written).write();
        json.close();
        out.line("");
    }

    /// Refuses a report that is much longer than the file, or all files of a set, before anything is printed: a short
    /// file can refer to one long text very often, and JSON has no references to texts.
    private static void checkLength(Inspection inspection, Set<Object> written) throws IOException {
        Checkpoint checkpoint = inspection.checkpoint();
        long most = longest(checkpoint.files());
        try (JsonGenerator json = generator(new BoundedWriter(most, () -> new FormatException("COST-REPORT",
                "the report in JSON would have more than " + (most >> 20)
                        + " MiB, since the file refers to the same long texts again and again",
                FormatException.NO_OFFSET, "Leave out --json, or look at a part of the state in Java")))) {
            new JsonReport(inspection.withoutDigests(), json, written).write();
        }
    }

    /// {@return how many characters the report of a file may have, or of a set}
    ///
    /// @param files the file, or all files of the set
    static long longest(List<Path> files) throws IOException {
        long nbytes = 0;
        for (Path file : files) {
            nbytes += Files.size(file);
        }
        return LEAST_LONG + LONG_FACTOR * nbytes;
    }

    /// {@return what writes JSON, an entry a line; closing it leaves the output open}
    static JsonGenerator generator(Writer out) throws IOException {
        return JSON.createGenerator(out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
                .setPrettyPrinter(new LinePerEntry());
    }

    private void write() throws IOException {
        json.writeStartObject();
        json.writeStringField("format", inspection.checkpoint().format());
        writeStorages();
        writeAbsentDevices();
        writeBases();
        writeTensors();
        json.writeFieldName("state");
        new StateJson(inspection, json, written).write(inspection.checkpoint().tree());
        writeMetadata();
        writeUnread();
        json.writeEndObject();
    }

    private void writeUnread() throws IOException {
        if (inspection.checkpoint().unread().isEmpty()) {
            return;
        }
        json.writeArrayFieldStart("unread");
        for (UnreadPart part : inspection.checkpoint().unread()) {
            json.writeStartObject();
            json.writeStringField("kind", part.kind().name().toLowerCase(Locale.ROOT));
            json.writeStringField("what", part.what());
            json.writeNumberField("offset", part.offset());
            json.writeNumberField("nbytes", part.nbytes());
            if (part.setting() != null) {
                json.writeStringField("setting", part.setting());
            }
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void writeStorages() throws IOException {
        json.writeArrayFieldStart("storages");
        int id = 0;
        for (Storage storage : inspection.storages()) {
            json.writeStartObject();
            json.writeNumberField("id", id++);
            json.writeNumberField("nbytes", storage.nbytes());
            json.writeStringField("device", storage.device().toString());
            Sha256 digests = inspection.digests();
            if (digests != null) {
                json.writeStringField("sha256", digests.of(storage));
            }
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void writeAbsentDevices() throws IOException {
        if (!inspection.absentDevices().isEmpty()) {
            json.writeArrayFieldStart("saved_from");
            for (String device : inspection.absentDevices()) {
                json.writeString(device);
            }
            json.writeEndArray();
        }
    }

    private void writeBases() throws IOException {
        List<BaseFile> bases = inspection.checkpoint().bases();
        if (!bases.isEmpty()) {
            json.writeArrayFieldStart("bases");
            for (BaseFile base : bases) {
                json.writeStartObject();
                json.writeStringField("kind", base.kind().name().toLowerCase(Locale.ROOT));
                json.writeStringField("path", base.path());
                json.writeStringField("uuid", base.uuid().map(UUID::toString).orElse(null));
                json.writeStringField("file", base.file().map(Path::toString).orElse(null));
                json.writeStringField("problem", base.problem().orElse(null));
                json.writeEndObject();
            }
            json.writeEndArray();
        }
    }

    private void writeTensors() throws IOException {
        json.writeArrayFieldStart("tensors");
        for (Map.Entry<String, Tensor> entry : inspection.tensors().entrySet()) {
            json.writeStartObject();
            json.writeStringField("name", entry.getKey());
            writeTensor(entry.getValue());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void writeTensor(Tensor tensor) throws IOException {
        json.writeStringField("dtype", tensor.dtype().name());
        writeNumbers("shape", tensor.shape().toArray());
        writeNumbers("stride", tensor.stride());
        json.writeNumberField("offset", tensor.storageOffset());
        json.writeObjectField("storage", inspection.idOf(tensor.storage()));
        json.writeBooleanField("requires_grad", tensor.is(Tensor.Flag.REQUIRES_GRAD));
        writeIfSet("conj", tensor, Tensor.Flag.CONJ);
        writeIfSet("neg", tensor, Tensor.Flag.NEG);
        Sha256 digests = inspection.digests();
        if (digests != null) {
            json.writeStringField("sha256", digests.of(tensor));
        }
    }

    private void writeIfSet(String field, Tensor tensor, Tensor.Flag flag) throws IOException {
        if (tensor.is(flag)) {
            json.writeBooleanField(field, true);
        }
    }

    private void writeNumbers(String field, long[] numbers) throws IOException {
        json.writeFieldName(field);
        json.writeArray(numbers, 0, numbers.length);
    }

    private void writeMetadata() throws IOException {
        json.writeObjectFieldStart("metadata");
        for (Map.Entry<String, String> entry : inspection.checkpoint().metadata().entrySet()) {
            json.writeStringField(entry.getKey(), entry.getValue());
        }
        json.writeEndObject();
    }

    /// Ends a line after each entry of the outer two levels, and writes everything else without white space.
    private static final class LinePerEntry extends MinimalPrettyPrinter {
        private static final long serialVersionUID = 1L;
        private static final int LEVELS = 2;

        private int depth;

        @Override
        public void writeStartObject(JsonGenerator json) throws IOException {
            depth++;
            super.writeStartObject(json);
        }

        @Override
        public void writeEndObject(JsonGenerator json, int entries) throws IOException {
            depth--;
            super.writeEndObject(json, entries);
        }

        @Override
        public void writeStartArray(JsonGenerator json) throws IOException {
            depth++;
            super.writeStartArray(json);
        }

        @Override
        public void writeEndArray(JsonGenerator json, int values) throws IOException {
            depth--;
            super.writeEndArray(json, values);
        }

        @Override
        public void writeObjectEntrySeparator(JsonGenerator json) throws IOException {
            json.writeRaw(depth <= LEVELS ? ",\n" : ",");
        }

        @Override
        public void writeArrayValueSeparator(JsonGenerator json) throws IOException {
            json.writeRaw(depth <= LEVELS ? ",\n" : ",");
        }
    }
}
