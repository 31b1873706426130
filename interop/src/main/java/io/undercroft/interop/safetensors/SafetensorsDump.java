package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.format.dump.FormatDump;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/// The bytes of a safetensors file and what they mean: the length of the header, the JSON of the header, a member a
/// line, the bytes of each tensor, and bytes that no tensor or more than one has.
// The package of the interface is exported to this module and to the command only.
@SuppressWarnings("exports")
public final class SafetensorsDump implements FormatDump {
    private static final String LENGTH = "length";
    private static final String HEADER = "header";
    private static final String TENSORS = "tensors";
    private static final String GAPS = "gaps";
    private static final int ROW = 16;
    private static final int LONGEST_MEANING = 500;

    /// For the service loader.
    public SafetensorsDump() {}

    @Override
    public String format() {
        return "safetensors";
    }

    @Override
    public List<String> sections() {
        return List.of(LENGTH, HEADER, TENSORS, GAPS);
    }

    @Override
    public boolean matches(MemorySegment file) {
        return file.byteSize() > SafetensorsHeader.PREFIX && SafetensorsHeader.startsIn(file);
    }

    @Override
    public Optional<FormatException> describe(MemorySegment file, Predicate<String> sections, long limit,
            Consumer<Part> parts) {
        return new Description(file, limit, part -> {
            if (sections.test(part.section())) {
                parts.accept(part);
            }
        }).describe();
    }

    /// A file that is being described.
    private static final class Description {
        private final MemorySegment file;
        private final long limit;
        private final Consumer<Part> parts;
        private long tensors;
        private long gaps;

        Description(MemorySegment file, long limit, Consumer<Part> parts) {
            this.file = file;
            this.limit = limit;
            this.parts = parts;
        }

        Optional<FormatException> describe() {
            MemorySegment prefix = file.asSlice(0, SafetensorsHeader.PREFIX);
            long claimed = SafetensorsHeader.lengthIn(prefix);
            FormatException fault = null;
            try {
                int _ = SafetensorsHeader.length(prefix, file.byteSize());
            } catch (FormatException e) {
                fault = e;
            }
            parts.accept(new Part(LENGTH, "length of the header", 0, prefix.byteSize(),
                    List.of(new Line(0, prefix, "length", Long.toUnsignedString(claimed))), 0, fault));
            MemorySegment text = file.asSlice(SafetensorsHeader.PREFIX,
                    Math.min(claimed, file.byteSize() - SafetensorsHeader.PREFIX));
            SafetensorsHeader header = null;
            FormatException malformed = null;
            if (fault == null) {
                try {
                    header = SafetensorsHeader.parse(text.toArray(ValueLayout.JAVA_BYTE));
                } catch (FormatException e) {
                    malformed = e;
                }
            }
            addHeader(text, malformed);
            if (header == null) {
                return Optional.ofNullable(fault == null ? malformed : fault);
            }
            return addTensors(header, SafetensorsHeader.PREFIX + text.byteSize());
        }

        private void addHeader(MemorySegment text, @Nullable FormatException fault) {
            Iterable<Line> all = () -> new Members(text);
            Iterable<Line> shown = () -> StreamSupport.stream(all.spliterator(), false).limit(limit).iterator();
            long count = StreamSupport.stream(all.spliterator(), false).count();
            parts.accept(new Part(HEADER, "header in JSON", SafetensorsHeader.PREFIX, text.byteSize(), shown,
                    Math.max(0, count - limit), fault));
        }

        private Optional<FormatException> addTensors(SafetensorsHeader header, long data) {
            List<TensorEntry> sorted = header.sorted();
            FormatException unreadable = null;
            long end = data;
            for (TensorEntry entry : sorted) {
                addGap(end, entry.start(), "gap that no tensor has");
                FormatException fault = fault(entry, end);
                unreadable = unreadable == null ? entry.fault() : unreadable;
                if (++tensors <= limit) {
                    parts.accept(
                            new Part(TENSORS, title(entry), entry.start(), entry.nbytes(), firstBytes(entry.start(),
                                    entry.nbytes()), tensors == limit ? sorted.size() - limit : 0, fault));
                }
                end = Math.max(end, entry.end());
            }
            addGap(end, file.byteSize(), "bytes behind the last tensor");
            try {
                header.checkLayout(data, file.byteSize());
            } catch (FormatException e) {
                return Optional.of(e);
            }
            return Optional.ofNullable(unreadable);
        }

        private @Nullable FormatException fault(TensorEntry entry, long end) {
            if (entry.fault() != null) {
                return entry.fault();
            }
            if (entry.start() < end) {
                return SafetensorsHeader.damaged("SAFETENSORS-LAYOUT", "the tensor starts " + (end - entry.start())
                        + " bytes before the end of the one before it", entry.start());
            }
            return entry.end() > file.byteSize()
                    ? SafetensorsHeader.damaged("SAFETENSORS-LAYOUT", "the file ends "
                            + (entry.end() - file.byteSize()) + " bytes before the tensor does", file.byteSize())
                    : null;
        }

        private void addGap(long from, long to, String title) {
            if (from < to && ++gaps <= limit) {
                parts.accept(new Part(GAPS, title, from, to - from, firstBytes(from, to - from), 0,
                        SafetensorsHeader.damaged("SAFETENSORS-LAYOUT", "no tensor has these bytes", from)));
            }
        }

        private static String title(TensorEntry entry) {
            return FormatException.quote(entry.name()) + ", "
                    + (entry.fault() == null ? entry.type().name() + " " + entry.shape() : "cannot be read");
        }

        private List<Line> firstBytes(long offset, long nbytes) {
            long shown = Math.min(Math.min(ROW, nbytes), file.byteSize() - offset);
            return shown <= 0 ? List.of() : List.of(new Line(offset, file.asSlice(offset, shown), "bytes", ""));
        }
    }

    /// The members of the outer object of a JSON text: each up to its comma, and what is before the first and behind
    /// the last. Found by brackets and quotes, so that a damaged text has members, too.
    private static final class Members implements Iterator<Line> {
        private final MemorySegment text;
        private long at;

        Members(MemorySegment text) {
            this.text = text;
        }

        @Override
        public boolean hasNext() {
            return at < text.byteSize();
        }

        @Override
        public Line next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            long start = at;
            at = start == 0 && byteAt(0) == '{' ? 1 : end(start);
            MemorySegment bytes = text.asSlice(start, at - start);
            String shown = new String(bytes.asSlice(0, Math.min(bytes.byteSize(), LONGEST_MEANING))
                    .toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8).strip();
            String name = shown.startsWith("\"") ? "member" : shown.isEmpty() ? "padding" : "bracket";
            return new Line(SafetensorsHeader.PREFIX + start, bytes, name,
                    bytes.byteSize() > LONGEST_MEANING ? shown + "…" : shown);
        }

        /// Returns the end of a member: behind its comma, or at the bracket that ends the outer object. What follows
        /// that bracket is one more.
        private long end(long start) {
            int depth = 0;
            boolean isInString = false;
            for (long i = start; i < text.byteSize(); i++) {
                byte next = byteAt(i);
                if (isInString) {
                    isInString = next != '"';
                    i += next == '\\' ? 1 : 0;
                    continue;
                }
                switch (next) {
                    case '"' -> isInString = true;
                    case '{', '[' -> depth++;
                    case '}', ']' -> {
                        if (--depth < 0) {
                            return i == start ? i + 1 : i;
                        }
                    }
                    case ',' -> {
                        if (depth == 0) {
                            return i + 1;
                        }
                    }
                    default -> {
                    }
                }
            }
            return text.byteSize();
        }

        private byte byteAt(long index) {
            return text.get(ValueLayout.JAVA_BYTE, index);
        }
    }
}
