package io.undercroft.format.dump;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.ByteSource;
import io.undercroft.format.internal.Limits;
import io.undercroft.format.internal.SetManifest;
import io.undercroft.format.internal.index.RecordLayout;
import io.undercroft.format.internal.index.Records.ManifestFields;
import io.undercroft.format.internal.index.Records.ShardFields;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// Describes the bytes of the manifest of a set, a `*.croftset` file.
public final class SetDump implements FormatDump {
    private static final String MANIFEST = "manifest";
    private static final String SHARDS = "shards";
    private static final String TEXTS = "texts";
    private static final String SLICES = "slices";

    /// For the service loader.
    public SetDump() {}

    @Override
    public String format() {
        return "croftset";
    }

    @Override
    public List<String> sections() {
        return List.of(MANIFEST, SHARDS, TEXTS, SLICES);
    }

    @Override
    public boolean matches(MemorySegment file) {
        return SetManifest.isSignature(file);
    }

    @Override
    public Optional<FormatException> describe(MemorySegment file, Predicate<String> sections, long limit,
            Consumer<Part> parts) {
        FormatException fault = fault(file);
        FieldLines lines = new FieldLines(file);
        RecordLayout head = ManifestFields.RECORD;
        Consumer<Part> chosen = part -> {
            if (sections.test(part.section())) {
                parts.accept(part);
            }
        };
        chosen.accept(new Part(MANIFEST, "head of the set", 0, head.size(), lines.of(head, 0, head.size()), 0, fault));
        if (!lines.has(0, head.size())) {
            return Optional.ofNullable(fault);
        }
        long size = Math.max(ManifestFields.RECORD_SIZE.get(file, 0), ShardFields.RECORD.size());
        long count = ManifestFields.SHARDS.get(file, 0);
        long texts = head.size() + count * size;
        for (long number = 0; number < Math.min(limit, count); number++) {
            long at = head.size() + number * size;
            chosen.accept(new Part(SHARDS, "shard " + number + path(lines, at, texts), at, size,
                    lines.of(ShardFields.RECORD, at, size), number + 1 == limit ? count - limit : 0, null));
            if (!lines.has(at, size)) {
                return Optional.ofNullable(fault);
            }
        }
        long slices = texts + ManifestFields.TEXT_LENGTH.get(file, 0);
        addRows(chosen, lines, TEXTS, "paths of the shards", "text", texts, slices, limit);
        long end = file.byteSize() - Integer.BYTES;
        addRows(chosen, lines, SLICES, "tensors and their slices", "slices", slices, end, limit);
        chosen.accept(new Part(MANIFEST, "end of the set", end, Integer.BYTES,
                List.of(new Line(end, file.asSlice(end), "CRC32C of the bytes before",
                        "0x%08x".formatted(file.get(ValueLayout.JAVA_INT_UNALIGNED, end)))),
                0, null));
        return Optional.ofNullable(fault);
    }

    private static @Nullable FormatException fault(MemorySegment file) {
        try {
            SetManifest _ = SetManifest.read(ByteSource.of(file), Limits.DEFAULT);
            return null;
        } catch (FormatException e) {
            return e;
        } catch (IOException e) {
            throw new IllegalStateException("bytes in memory are read", e);
        }
    }

    private static String path(FieldLines lines, long shard, long texts) {
        if (!lines.has(shard, ShardFields.RECORD.size())) {
            return "";
        }
        long path = texts + ShardFields.PATH.get(lines.file(), shard);
        long length = ShardFields.PATH_LENGTH.get(lines.file(), shard);
        return lines.has(path, length)
                ? ", " + FormatException.quote(new String(lines.file().asSlice(path, length)
                        .toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8))
                : "";
    }

    private static void addRows(Consumer<Part> parts, FieldLines lines, String section, String title, String name,
            long from, long to, long limit) {
        if (from < to && lines.has(from, to - from)) {
            long shown = Math.min(to - from, limit * FieldLines.ROW);
            parts.accept(new Part(section, title + FileDump.part(shown, to - from), from, to - from,
                    lines.rows(name, from, shown), 0, null));
        }
    }
}
