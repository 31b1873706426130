package io.undercroft.interop.numpy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.interop.internal.ZipWriter;
import io.undercroft.interop.internal.ZipWriter.Dialect;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;

/// An archive to be written.
///
/// @param parts what is in the records, by their names
/// @param isDeflated whether the records are compressed
record ArchiveDraft(SequencedMap<String, Draft> parts, boolean isDeflated) implements Draft {
    private static final int LONGEST_NAME = 0xFF00;
    private static final int SHOWN = 64;
    /// The most bytes that a record takes in headers, padding and directory, and those of the end.
    private static final int RECORD = 30 + 46 + 64;
    private static final int END = 22;

    ArchiveDraft {
        parts.keySet().forEach(name -> {
            if (name.getBytes(UTF_8).length > LONGEST_NAME) {
                throw new IllegalArgumentException("the name of a tensor is longer than " + LONGEST_NAME
                        + " bytes, which no zip archive can hold: " + name.substring(0, SHOWN) + "…");
            }
        });
    }

    @Override
    public long nbytes() {
        long sum = END;
        for (Map.Entry<String, Draft> part : parts.entrySet()) {
            long names = RECORD + 2L * part.getKey().getBytes(UTF_8).length;
            sum = Math.addExact(sum, Math.addExact(names, part.getValue().nbytes()));
        }
        return sum;
    }

    /// Deflated elements may become next to nothing.
    @Override
    public long leastBytes() {
        return isDeflated ? END : nbytes();
    }

    @Override
    public SequencedMap<String, Tensor> names() {
        SequencedMap<String, Tensor> names = new LinkedHashMap<>();
        parts.forEach((record, part) -> part.names()
                .forEach((field, tensor) -> names.put(NpzFormat.name(record, field), tensor)));
        return names;
    }

    @Override
    public boolean keeps(Object value, String attribute, Set<Capability> format) {
        return ArrayDraft.isKept(value, attribute);
    }

    @Override
    public List<SharedStorage> sharedStorages() {
        List<SharedStorage> storages = new ArrayList<>();
        parts.forEach((record, part) -> part.sharedStorages().forEach(storage -> storages.add(new SharedStorage(
                storage.names().stream().map(field -> NpzFormat.name(record, field)).collect(Collectors.toSet()),
                storage.nbytes()))));
        return storages;
    }

    @Override
    public void writeTo(Output output) throws IOException {
        try (ZipWriter zip = new ZipWriter(Dialect.NUMPY, isDeflated, output)) {
            for (Map.Entry<String, Draft> part : parts.entrySet()) {
                zip.add(part.getKey(), part.getValue());
            }
            zip.finish();
        }
    }
}
