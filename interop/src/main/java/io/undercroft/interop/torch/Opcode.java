package io.undercroft.interop.torch;

import org.jspecify.annotations.Nullable;

/// The opcodes of the pickle machine that are understood: what protocols 2 to 5 write, without those that only make
/// instances of Python classes.
enum Opcode {
    MARK('('), STOP('.'), POP('0'), POP_MARK('1'), DUP('2'), BINFLOAT('G'), BININT('J'), BININT1('K'), BININT2(
            'M'), NONE('N'), BINPERSID('Q'), REDUCE('R'), BINSTRING('T'), SHORT_BINSTRING('U'), BINUNICODE('X'), APPEND(
                    'a'), BUILD('b'), GLOBAL('c'), DICT('d'), EMPTY_DICT('}'), APPENDS('e'), BINGET('h'), LONG_BINGET(
                            'j'), LIST('l'), EMPTY_LIST(']'), BINPUT('q'), LONG_BINPUT('r'), SETITEM(
                                    's'), TUPLE('t'), EMPTY_TUPLE(')'), SETITEMS('u'), BINBYTES('B'), SHORT_BINBYTES(
                                            'C'), PROTO(0x80), NEWOBJ(0x81), TUPLE1(0x85), TUPLE2(0x86), TUPLE3(
                                                    0x87), NEWTRUE(0x88), NEWFALSE(0x89), LONG1(
                                                            0x8a), LONG4(0x8b), SHORT_BINUNICODE(0x8c), BINUNICODE8(
                                                                    0x8d), BINBYTES8(0x8e), EMPTY_SET(0x8f), ADDITEMS(
                                                                            0x90), FROZENSET(0x91), STACK_GLOBAL(
                                                                                    0x93), MEMOIZE(0x94), FRAME(
                                                                                            0x95), BYTEARRAY8(0x96);

    private static final @Nullable Opcode[] BY_CODE = new @Nullable Opcode[256];

    static {
        for (Opcode opcode : values()) {
            BY_CODE[opcode.code] = opcode;
        }
    }

    private final int code;

    Opcode(int code) {
        this.code = code;
    }

    /// {@return the byte that stands for it in a pickle}
    int code() {
        return code;
    }

    /// {@return the opcode of an unsigned byte}
    ///
    /// @throws PickleFault if there is none
    static Opcode of(int code) {
        Opcode opcode = BY_CODE[code];
        if (opcode == null) {
            throw PickleFault.because("TORCH-PICKLE",
                    String.format("0x%02x is no opcode of pickle protocols 2 to 5 that states are saved with", code),
                    "If the file was saved with protocol 0 or 1, save it again with pickle_protocol=2; else get it "
                            + "again "
                            + "from its source");
        }
        return opcode;
    }
}
