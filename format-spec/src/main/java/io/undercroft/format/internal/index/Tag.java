package io.undercroft.format.internal.index;

/// The tag bytes of the state tree. 0 is none of them, so that zeroed bytes are no tree.
public final class Tag {
    public static final int NULL = 0x01;
    public static final int FALSE = 0x02;
    public static final int TRUE = 0x03;
    public static final int INTEGER = 0x04;
    public static final int NEGATIVE = 0x05;
    public static final int BIG_INTEGER = 0x06;
    public static final int FLOAT = 0x07;
    public static final int COMPLEX = 0x08;
    public static final int STRING = 0x09;
    public static final int BYTES = 0x0A;
    public static final int INT8 = 0x0B;
    public static final int INT16 = 0x0C;
    public static final int INT32 = 0x0D;
    public static final int FLOAT32 = 0x0E;
    public static final int LIST = 0x10;
    public static final int TUPLE = 0x11;
    public static final int MAP = 0x12;
    public static final int SET = 0x13;
    public static final int OBJECT = 0x14;
    public static final int REFERENCE = 0x15;
    public static final int TENSOR = 0x20;
    public static final int STORAGE = 0x21;
    public static final int DTYPE = 0x22;
    public static final int DEVICE = 0x23;
    public static final int SHAPE = 0x24;
    public static final int SYMBOL = 0x25;

    private Tag() {}
}
