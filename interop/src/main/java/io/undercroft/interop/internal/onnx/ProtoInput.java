package io.undercroft.interop.internal.onnx;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.Utf8;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;

/// Reads the fields of protobuf messages, with their offsets in the file, and nothing of what they hold. For use by one
/// thread.
final class ProtoInput {
    static final int VARINT = 0;
    static final int FIXED64 = 1;
    static final int BYTES = 2;
    static final int FIXED32 = 5;
    /// Longer texts are in no model.
    private static final long LONGEST_TEXT = 1L << 28;

    private final MappedFile file;
    private final ByteReader in;
    private final ReadBudget budget;

    /// A field of a message.
    ///
    /// @param number its number
    /// @param wire how it is written: [#VARINT], [#FIXED64], [#BYTES] or [#FIXED32]
    /// @param value the number if it is a varint
    /// @param start the offset of its bytes, without what says how many they are
    /// @param end the offset behind them, which may be past the end of the file
    record Field(int number, int wire, long value, long start, long end) {
        long nbytes() {
            return end - start;
        }
    }

    /// What is done with a field.
    @FunctionalInterface
    interface Action {
        /// Uses the field; may read others before the next one is read.
        void on(Field field) throws IOException;
    }

    /// @param file the file
    /// @param budget what reading it may cost
    ProtoInput(MappedFile file, ReadBudget budget) {
        this.file = file;
        this.in = new ByteReader(file, 0, file.size(),
                (_, position, _) -> damaged("the file ends within a message", position));
        this.budget = budget;
    }

    static FormatException damaged(String what, long offset) {
        return new FormatException("ONNX", what, offset,
                "The file is incomplete or damaged; get it again from its source");
    }

    /// Reads the fields of a message in their order.
    ///
    /// @param start where it starts
    /// @param end where it ends
    /// @param action called with each
    /// @throws FormatException if a field has no number or kind that there is, or reaches past the end of the message
    void forEach(long start, long end, Action action) throws IOException {
        for (long position = start; position < end;) {
            Field field = at(position);
            if (field.end > end) {
                throw damaged("the field " + field.number + " of a message ends at byte "
                        + (field.end == Long.MAX_VALUE ? "2^63" : field.end) + ", and the message at byte " + end,
                        position);
            }
            budget.takeSteps(1);
            action.on(field);
            position = field.end;
        }
    }

    /// {@return the field at an offset}
    Field at(long offset) throws IOException {
        long tag = in.at(offset).remaining() > 0 ? varint(in) : 0;
        int number = (int) (tag >>> 3);
        if (tag >>> Integer.SIZE != 0 || number == 0) {
            throw damaged("there is no field of a message", offset);
        }
        int wire = (int) tag & 7;
        long value = wire == VARINT || wire == BYTES ? -1 : 0;
        long start = in.position();
        if (value != 0) {
            value = varint(in);
        }
        return switch (wire) {
            case VARINT -> new Field(number, wire, value, start, in.position());
            case FIXED64 -> new Field(number, wire, 0, start, start + Long.BYTES);
            case FIXED32 -> new Field(number, wire, 0, start, start + Integer.BYTES);
            case BYTES -> new Field(number, wire, 0, in.position(), value < 0 || value > Long.MAX_VALUE - in.position()
                    ? Long.MAX_VALUE
                    : in.position() + value);
            default -> throw damaged("the field " + number + " of a message is of the kind " + wire, offset);
        };
    }

    /// {@return the bytes of a field, for instance numbers one after the other}
    ByteReader within(Field field) {
        return new ByteReader(file, field.start, field.end,
                (_, position, _) -> damaged("a number has no end", position));
    }

    /// {@return the next varint}
    ///
    /// @param in where it is read
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

    /// {@return the text of a field}
    String text(Field field) throws IOException {
        if (field.nbytes() > LONGEST_TEXT) {
            throw damaged("a text has " + field.nbytes() + " bytes", field.start);
        }
        budget.takeText(field.nbytes());
        return Utf8.decode(in.at(field.start).bytes(field.nbytes()))
                .orElseThrow(() -> damaged("a text is not UTF-8", field.start));
    }
}
