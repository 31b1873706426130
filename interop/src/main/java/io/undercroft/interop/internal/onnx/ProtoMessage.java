package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// A message of protobuf: its fields with their offsets in the file. Fields that are missing are empty or 0, and of one
/// that is there several times the last one counts, as in protobuf. For use by one thread.
final class ProtoMessage {
    static final int VARINT = 0;
    static final int BYTES = 2;
    /// Longer texts are in no model.
    private static final long LONGEST_TEXT = 1L << 28;

    /// What a message takes with its reader, and reading numbers or a text of it.
    private static final long MESSAGE = 2 << 10;
    private static final long READING = 512;

    private final MappedFile file;
    private final ReadBudget budget;
    private final long start;
    private final long end;
    private final List<Field> fields = new ArrayList<>();

    /// A field.
    ///
    /// @param number its number
    /// @param wire how it is written: [#VARINT], [#BYTES] with its length, or as 4 or 8 bytes
    /// @param start the offset of its bytes
    /// @param end the offset behind them; past the end of the file if that was cut
    record Field(int number, int wire, long start, long end) {
        long nbytes() {
            return end - start;
        }
    }

    /// Reads a message.
    ///
    /// @param file the file
    /// @param budget what reading it may cost
    /// @param start where the message starts
    /// @param end where it ends
    /// @throws FormatException if a field has no number or kind that there is, or reaches past the end of the message
    ProtoMessage(MappedFile file, ReadBudget budget, long start, long end) throws IOException {
        this.file = file;
        this.budget = budget;
        this.start = start;
        this.end = end;
        budget.takeMemory(MESSAGE);
        ByteReader in = reader(file, start, end);
        while (in.remaining() > 0) {
            budget.takeMemory(ReadBudget.ENTRY);
            Field field = next(in);
            if (field.end > end) {
                throw damaged("the field " + field.number + " of a message reaches past its end", field.start);
            }
            fields.add(field);
            in.at(field.end);
        }
    }

    static ByteReader reader(MappedFile file, long start, long end) {
        return new ByteReader(file, start, end,
                (_, position, _) -> damaged("a message or number has no end", position));
    }

    static FormatException damaged(String what, long offset) {
        return new FormatException("ONNX", what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }

    /// {@return the next field}
    static Field next(ByteReader in) throws IOException {
        long tag = varint(in);
        long position = in.position();
        long length = switch ((int) tag & 7) {
            case VARINT -> {
                varint(in);
                yield in.position() - position;
            }
            case 1 -> Long.BYTES;
            case 5 -> Integer.BYTES;
            case BYTES -> {
                long bytes = varint(in);
                position = in.position();
                yield bytes < 0 ? Long.MAX_VALUE : bytes;
            }
            default -> -1;
        };
        if (length < 0 || tag >>> 3 == 0 || tag >>> Integer.SIZE != 0) {
            throw damaged("there is no field of a message", position);
        }
        return new Field((int) (tag >>> 3), (int) tag & 7, position,
                length > Long.MAX_VALUE - position ? Long.MAX_VALUE : position + length);
    }

    /// {@return the next varint}
    static long varint(ByteReader in) throws IOException {
        long value = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            int next = in.u8();
            value |= (next & 0x7FL) << shift;
            if (next < 0x80) {
                return value;
            }
        }
        throw damaged("a number has more than 10 bytes", in.position());
    }

    long start() {
        return start;
    }

    long nbytes() {
        return end - start;
    }

    /// {@return the fields of a number}
    List<Field> all(int number) {
        // Not by streams, which are objects: a model may have a hundred thousand messages.
        List<Field> found = List.of();
        for (Field field : fields) {
            if (field.number == number) {
                found = found.isEmpty() ? new ArrayList<>(2) : found;
                found.add(field);
            }
        }
        return found;
    }

    /// {@return how many bytes the fields of a number have}
    long nbytes(int number) {
        long nbytes = 0;
        for (Field field : all(number)) {
            nbytes += field.nbytes();
        }
        return nbytes;
    }

    /// {@return the messages of a number}
    List<ProtoMessage> messages(int number) throws IOException {
        List<ProtoMessage> messages = new ArrayList<>();
        for (Field field : all(number)) {
            messages.add(new ProtoMessage(file, budget, field.start, field.end));
        }
        return messages;
    }

    /// {@return the varints of a number, which may be packed}
    List<Long> numbers(int number) throws IOException {
        List<Long> numbers = new ArrayList<>();
        for (Field field : all(number)) {
            budget.takeMemory(READING);
            for (ByteReader in = reader(file, field.start, field.end); in.remaining() > 0;) {
                budget.takeMemory(ReadBudget.NUMBER);
                numbers.add(varint(in));
            }
        }
        return numbers;
    }

    long number(int number) throws IOException {
        List<Long> numbers = numbers(number);
        return numbers.isEmpty() ? 0 : numbers.getLast();
    }

    String text(int number) throws IOException {
        List<Field> all = all(number);
        return all.isEmpty() ? "" : text(all.getLast());
    }

    /// {@return the text of a field, for instance of one that is there several times}
    String text(Field field) throws IOException {
        if (field.nbytes() > LONGEST_TEXT) {
            throw damaged("a text has " + field.nbytes() + " bytes", field.start);
        }
        budget.takeMemory(READING);
        budget.takeText(field.nbytes());
        return Utf8.decode(ByteReader.bytes(file, field.start, (int) field.nbytes()))
                .orElseThrow(() -> damaged("a text is not UTF-8", field.start));
    }
}
