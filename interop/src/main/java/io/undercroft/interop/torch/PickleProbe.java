package io.undercroft.interop.torch;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.regex.Pattern;

/// Recognises a pickle by its first opcodes. Since protocol 2 it begins with the number of its protocol; before, any
/// text could begin as it does. So the opcodes are followed, without their values: each has to find on the stack what
/// it takes, names have to be names, and a pickle of these protocols has to end where the file ends.
final class PickleProbe {
    /// The maximum number of opcodes that are followed.
    private static final int MOST = 4096;
    private static final int PROTOCOL = 0x80;
    private static final int OLDEST = 2;
    private static final int NEWEST = 5;
    /// The opcodes with which protocols 0 and 1 begin a list, a dict, a tuple or an object.
    private static final String STARTS = "(]}c)";
    private static final Pattern NAMES = Pattern.compile("[A-Za-z_][\\w.]*\\r?\\n[A-Za-z_][\\w.]*\\r?\\n");
    private static final String JOBLIB = "joblib.numpy_pickle";
    /// In how many bytes joblib names its class of arrays, if it is among the first values.
    private static final int JOBLIB_START = 1 << 14;

    private final Deque<Integer> marks = new ArrayDeque<>();
    private int depth;

    private PickleProbe() {}

    /// {@return whether a file is a pickle, or one of joblib}
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    static boolean matches(MappedFile file) throws IOException {
        return matches(new PickleStream(file, 0, file.size(), ReadBudget.of(file.size())));
    }

    /// {@return whether a pickle, or one of joblib, starts at the first of these bytes}
    ///
    /// @param stream all bytes of a file, or its first ones
    /// @throws IOException if reading fails
    static boolean matches(PickleStream stream) throws IOException {
        ByteReader in = stream.bytes();
        if (in.end() < 2) {
            return false;
        }
        byte[] start = in.at(0).bytes(2);
        int version = start[1];
        boolean hasProtocol = Byte.toUnsignedInt(start[0]) == PROTOCOL && version >= OLDEST && version <= NEWEST;
        if (!hasProtocol && (STARTS.indexOf(start[0]) < 0 || in.at(in.end() - 1).i8() != '.')) {
            return false;
        }
        in.at(0);
        return new PickleProbe().follows(stream, hasProtocol) || (hasProtocol && isJoblib(in));
    }

    /// {@return whether a file that begins with a pickle is one of joblib, which has the elements of arrays between its
    /// opcodes}
    private static boolean isJoblib(ByteReader in) throws IOException {
        byte[] start = in.at(0).bytes(Math.min(JOBLIB_START, in.end()));
        return new String(start, ISO_8859_1).contains(JOBLIB);
    }

    private boolean follows(PickleStream stream, boolean hasProtocol) throws IOException {
        try {
            for (int i = 0; i < MOST; i++) {
                long at = stream.position();
                Opcode opcode = stream.skip();
                if (opcode == Opcode.STOP) {
                    return depth == 1 && marks.isEmpty() && (hasProtocol || stream.position() == stream.bytes().end());
                }
                if (!hasArguments(opcode) || !isNamed(opcode, stream.bytes(), at)) {
                    return false;
                }
            }
            return true;
        } catch (FormatException _) {
            return false;
        }
    }

    private static boolean isNamed(Opcode opcode, ByteReader in, long at) throws IOException {
        long end = in.position();
        return (opcode != Opcode.GLOBAL && opcode != Opcode.INST)
                || NAMES.matcher(new String(in.at(at + 1).bytes(end - at - 1), ISO_8859_1)).matches();
    }

    /// {@return whether the stack has what an opcode takes, which is replaced by what it leaves}
    private boolean hasArguments(Opcode opcode) {
        return switch (opcode) {
            case PROTO, FRAME -> true;
            case MARK -> {
                marks.push(depth);
                yield true;
            }
            case POP -> (marks.isEmpty() || depth > floor()) ? replace(1, 0) : toMark(0, 0);
            case POP_MARK -> toMark(0, 0);
            case DUP -> replace(1, 2);
            case TUPLE, LIST, DICT, FROZENSET, INST, OBJ -> toMark(0, 1);
            case APPENDS, SETITEMS, ADDITEMS -> toMark(1, 1);
            case TUPLE1, BINPERSID, READONLY_BUFFER, PUT, BINPUT, LONG_BINPUT, MEMOIZE -> replace(1, 1);
            case TUPLE2, APPEND, REDUCE, NEWOBJ, BUILD, STACK_GLOBAL -> replace(2, 1);
            case TUPLE3, SETITEM, NEWOBJ_EX -> replace(3, 1);
            default -> replace(0, 1);
        };
    }

    private int floor() {
        return marks.isEmpty() ? 0 : marks.element();
    }

    private boolean replace(int taken, int left) {
        if (depth - taken < floor()) {
            return false;
        }
        depth += left - taken;
        return true;
    }

    private boolean toMark(int below, int left) {
        if (marks.isEmpty()) {
            return false;
        }
        depth = marks.pop();
        return replace(below, left);
    }
}
