package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.JsonReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.storage.Shape;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/// The header of a file, checked against the file: the tensors lie one behind the other, without gaps, and
/// fill it.
///
/// @param entries the tensors by name, in the order of the header
/// @param metadata free-form text, in the order of the header
record SafetensorsHeader(SequencedMap<String, TensorEntry> entries, SequencedMap<String, String> metadata) {
    /// The length of the header is before it.
    static final int PREFIX = Long.BYTES;
    /// The maximum length of a header: the limit of the reference implementation.
    static final long LONGEST = 100_000_000;
    /// The most tensors that are described wrongly before the file is refused whole, as each costs more than others.
    private static final int MOST_UNREADABLE = 1 << 12;
    /// The approximate length of the description of a tensor.
    private static final int USUAL_LENGTH = 96;
    /// The member that is no tensor.
    static final String METADATA = "__metadata__";
    static final String DAMAGED = "The file is incomplete or damaged; get it again from its source";

    private static final ValueLayout.OfLong LENGTH = ValueLayout.JAVA_LONG_UNALIGNED
            .withOrder(ByteOrder.LITTLE_ENDIAN);

    private static int compareByPlace(TensorEntry one, TensorEntry other) {
        int byStart = Long.compare(one.start(), other.start());
        return byStart != 0 ? byStart : Long.compare(one.end(), other.end());
    }

    /// {@return whether a file starts as files of this format do}
    ///
    /// @param file any file
    static boolean startsIn(MappedFile file) throws IOException {
        if (file.size() < PREFIX + 2) {
            return false;
        }
        return startsIn(MemorySegment.ofArray(ByteReader.bytes(file, 0, PREFIX + 1)));
    }

    /// {@return whether bytes are those that files of this format start with}
    ///
    /// @param start at least the first 9 bytes of a file
    static boolean startsIn(MemorySegment start) {
        long length = lengthIn(start);
        return length >= 2 && length <= LONGEST && start.get(ValueLayout.JAVA_BYTE, PREFIX) == '{';
    }

    /// Reads the header of a file.
    ///
    /// @param file the file
    /// @return the header
    static SafetensorsHeader read(MappedFile file) throws IOException {
        if (file.size() < PREFIX) {
            throw damaged("SAFETENSORS-HEADER", "the file ends before its header", 0);
        }
        int length = length(MemorySegment.ofArray(ByteReader.bytes(file, 0, PREFIX)), file.size());
        SafetensorsHeader header = parse(ByteReader.bytes(file, PREFIX, length));
        header.checkLayout(PREFIX + (long) length, file.size());
        return header;
    }

    /// {@return the length that a file has for its header, not checked}
    ///
    /// @param prefix at least the bytes before the header
    static long lengthIn(MemorySegment prefix) {
        return prefix.get(LENGTH, 0);
    }

    /// {@return the length of a header}
    ///
    /// @param prefix at least the bytes before the header
    /// @param fileSize the size of the file
    static int length(MemorySegment prefix, long fileSize) {
        long length = lengthIn(prefix);
        if (length < 0 || length > LONGEST) {
            throw damaged("SAFETENSORS-HEADER", "the header takes " + Long.toUnsignedString(length)
                    + " bytes, and not up to " + LONGEST, 0);
        }
        if (length > fileSize - PREFIX) {
            throw damaged("SAFETENSORS-HEADER",
                    "of a header of " + length + " bytes the file has " + (fileSize - PREFIX), PREFIX);
        }
        return (int) length;
    }

    /// {@return a header that is not compared with the file yet}
    ///
    /// @param text its bytes
    static SafetensorsHeader parse(byte[] text) {
        return new Reader(text).header();
    }

    /// {@return the tensors in the order of their bytes}
    List<TensorEntry> sorted() {
        List<TensorEntry> sorted = new ArrayList<>(entries.values());
        sorted.sort(SafetensorsHeader::compareByPlace);
        return sorted;
    }

    /// Checks that the tensors fill the file behind the header.
    ///
    /// @param data the end of the header
    /// @param fileSize the size of the file
    void checkLayout(long data, long fileSize) {
        if (endOfRun(data) == fileSize) {
            return;
        }
        long end = data;
        for (TensorEntry entry : sorted()) {
            if (entry.start() != end) {
                throw damaged("SAFETENSORS-LAYOUT", "tensor " + FormatException.quote(entry.name()) + " starts "
                        + Math.abs(entry.start() - end) + " bytes " + (entry.start() < end ? "before" : "behind")
                        + " the end of the one before it", Math.min(entry.start(), fileSize));
            }
            end = entry.end();
        }
        if (end != fileSize) {
            throw damaged("SAFETENSORS-LAYOUT",
                    "the tensors end at byte " + end + " and the file at byte " + fileSize,
                    Math.min(end, fileSize));
        }
    }

    /// {@return the end of the last tensor, or -1 if a tensor does not start at the end of the previous one in the
    /// header}
    private long endOfRun(long data) {
        long end = data;
        for (TensorEntry entry : entries.values()) {
            if (entry.start() != end) {
                return -1;
            }
            end = entry.end();
        }
        return end;
    }

    /// {@return the size of a tensor in bits} As with the reference implementation a size of 0 does not undo what came
    /// before it.
    ///
    /// @param type the type of its elements
    /// @param sizes its sizes in the file
    /// @throws ArithmeticException if that is 2^63 or more
    static long nbits(SafetensorsType type, long[] sizes) {
        long numel = 1;
        for (long size : sizes) {
            numel = Math.multiplyExact(numel, size);
        }
        return Math.multiplyExact(numel, (long) type.bits());
    }

    static FormatException damaged(String code, String what, long offset) {
        return new FormatException(code, what, offset, DAMAGED);
    }

    /// A header that is being read.
    private static final class Reader {
        private final byte[] text;
        private final long data;
        private final JsonReader json;
        private final SequencedMap<String, TensorEntry> entries;
        private final Fields fields = new Fields();
        private final SequencedMap<String, String> metadata = new LinkedHashMap<>();
        private boolean hasMetadata;
        private int unreadable;

        Reader(byte[] text) {
            this.text = text;
            this.data = PREFIX + (long) text.length;
            this.json = new JsonReader(text, PREFIX);
            this.entries = LinkedHashMap.newLinkedHashMap(text.length / USUAL_LENGTH);
        }

        SafetensorsHeader header() {
            if (text.length == 0 || text[0] != '{') {
                throw damaged("SAFETENSORS-HEADER", "the header does not begin with '{'", PREFIX);
            }
            json.object(this::member);
            json.end();
            return new SafetensorsHeader(entries, metadata);
        }

        private void member(String name) {
            if (name.equals(METADATA)) {
                metadata();
            } else if (entries.putIfAbsent(name, entry(name)) != null) {
                throw twice(name);
            }
        }

        private void metadata() {
            if (hasMetadata) {
                throw twice(METADATA);
            }
            hasMetadata = true;
            if (!json.takeNull()) {
                json.object(key -> {
                    if (metadata.putIfAbsent(key, json.string()) != null) {
                        throw twice(key);
                    }
                });
            }
        }

        private TensorEntry entry(String name) {
            long position = json.position();
            fields.clear();
            json.object(fields);
            String dtype = fields.dtype;
            long[] shape = fields.shape;
            long[] offsets = fields.offsets;
            if (dtype == null || shape == null || offsets == null || offsets.length != 2) {
                throw damaged("SAFETENSORS-TENSOR", "tensor " + FormatException.quote(name)
                        + " lacks a dtype, a shape, or two data_offsets", position);
            }
            if (offsets[0] > offsets[1] || offsets[1] > Long.MAX_VALUE - data) {
                throw damaged("SAFETENSORS-TENSOR",
                        "the bytes of tensor " + FormatException.quote(name) + " end before they start", position);
            }
            long start = data + offsets[0];
            long nbytes = offsets[1] - offsets[0];
            try {
                SafetensorsType type = type(dtype, name, position);
                if (nbytes != nbytes(type, shape, name, position)) {
                    throw damaged("SAFETENSORS-TENSOR", "tensor " + FormatException.quote(name) + " has " + nbytes
                            + " bytes, which its dtype and shape do not make", position);
                }
                return new TensorEntry(name, type, shape(shape, name, position), start, start + nbytes, null);
            } catch (FormatException fault) {
                // The bytes of the tensor are known, so the others can be read.
                if (++unreadable > MOST_UNREADABLE) {
                    throw fault;
                }
                return new TensorEntry(name, SafetensorsType.BYTES, shapeOrBytes(shape, nbytes), start, start + nbytes,
                        fault);
            }
        }

        private static Shape shapeOrBytes(long[] sizes, long nbytes) {
            try {
                return Shape.of(sizes);
            } catch (IllegalArgumentException _) {
                return Shape.of(nbytes);
            }
        }

        private static SafetensorsType type(String dtype, String name, long position) {
            SafetensorsType known = SafetensorsType.find(dtype);
            if (known == null) {
                throw new FormatException("SAFETENSORS-DTYPE", "the dtype " + FormatException.quote(dtype)
                        + " of tensor " + FormatException.quote(name) + " is none of safetensors 0.8", position,
                        "Convert the tensor to a dtype that it has");
            }
            return known;
        }

        /// Only of an empty tensor the strides can be too large, since its other sizes are not bounded by its bytes.
        private static Shape shape(long[] sizes, String name, long position) {
            try {
                Shape shape = Shape.of(sizes);
                if (shape.numel() == 0) {
                    shape.contiguousStride();
                }
                return shape;
            } catch (IllegalArgumentException e) {
                throw damaged("SAFETENSORS-TENSOR",
                        "tensor " + FormatException.quote(name) + " cannot be: " + e.getMessage(), position);
            }
        }

        private static long nbytes(SafetensorsType type, long[] shape, String name, long position) {
            try {
                long bits = nbits(type, shape);
                return bits % Byte.SIZE == 0 ? bits / Byte.SIZE : -1;
            } catch (ArithmeticException _) {
                throw damaged("SAFETENSORS-TENSOR",
                        "tensor " + FormatException.quote(name) + " has more than 2^63-1 bits", position);
            }
        }

        private FormatException twice(String name) {
            return damaged("SAFETENSORS-DUPLICATE", FormatException.quote(name) + " is there twice", json.position());
        }

        /// The description of one tensor.
        private final class Fields implements Consumer<String> {
            private @Nullable String dtype;
            private long @Nullable [] shape;
            private long @Nullable [] offsets;

            void clear() {
                dtype = null;
                shape = null;
                offsets = null;
            }

            @Override
            public void accept(String field) {
                switch (field) {
                    case "dtype" -> {
                        checkFirst(dtype, field);
                        dtype = json.string();
                    }
                    case "shape" -> {
                        checkFirst(shape, field);
                        shape = json.naturals(Shape.MAX_RANK);
                    }
                    case "data_offsets" -> {
                        checkFirst(offsets, field);
                        offsets = json.naturals(2);
                    }
                    // The reference implementation skips unknown keys, too.
                    default -> json.skip();
                }
            }

            private void checkFirst(@Nullable Object before, String field) {
                if (before != null) {
                    throw twice(field);
                }
            }
        }
    }
}
