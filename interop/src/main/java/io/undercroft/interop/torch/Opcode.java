package io.undercroft.interop.torch;

import org.jspecify.annotations.Nullable;

/// The opcodes of the pickle machine: all that protocols 0 to 5 have.
enum Opcode {
    // @formatter:off
    MARK('('), STOP('.'), POP('0'), POP_MARK('1'), DUP('2'),
    FLOAT('F'), BINFLOAT('G'), INT('I'), BININT('J'), BININT1('K'), LONG('L'), BININT2('M'), NONE('N'),
    PERSID('P'), BINPERSID('Q'), REDUCE('R'),
    STRING('S'), BINSTRING('T'), SHORT_BINSTRING('U'), UNICODE('V'), BINUNICODE('X'),
    APPEND('a'), BUILD('b'), GLOBAL('c'), DICT('d'), EMPTY_DICT('}'), APPENDS('e'),
    GET('g'), BINGET('h'), INST('i'), LONG_BINGET('j'), LIST('l'), EMPTY_LIST(']'), OBJ('o'),
    PUT('p'), BINPUT('q'), LONG_BINPUT('r'), SETITEM('s'), TUPLE('t'), EMPTY_TUPLE(')'), SETITEMS('u'),
    BINBYTES('B'), SHORT_BINBYTES('C'),
    // protocol 2
    PROTO(0x80), NEWOBJ(0x81), EXT1(0x82), EXT2(0x83), EXT4(0x84), TUPLE1(0x85), TUPLE2(0x86), TUPLE3(0x87),
    NEWTRUE(0x88), NEWFALSE(0x89), LONG1(0x8a), LONG4(0x8b),
    // protocol 4
    SHORT_BINUNICODE(0x8c), BINUNICODE8(0x8d), BINBYTES8(0x8e), EMPTY_SET(0x8f), ADDITEMS(0x90), FROZENSET(0x91),
    NEWOBJ_EX(0x92), STACK_GLOBAL(0x93), MEMOIZE(0x94), FRAME(0x95),
    // protocol 5
    BYTEARRAY8(0x96), NEXT_BUFFER(0x97), READONLY_BUFFER(0x98);
    // @formatter:on

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
            throw PickleFault.malformed(String.format("0x%02x is no opcode of pickle protocols 0 to 5", code));
        }
        return opcode;
    }
}
