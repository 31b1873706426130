package io.undercroft.storage.internal;

import java.lang.foreign.MemorySegment;

/// Complex numbers: the real part, then the imaginary part. Positions of parts count parts.
///
/// @param real the encoding of real parts
/// @param imaginary the encoding of imaginary parts
record ComplexElements(Elements real, Elements imaginary) implements Elements {
    static ComplexElements of(Elements parts) {
        return new ComplexElements(parts, parts);
    }

    @Override
    public double getDouble(MemorySegment bytes, long position) {
        return real.getDouble(bytes, realPart(position));
    }

    @Override
    public double getImaginary(MemorySegment bytes, long position) {
        return imaginary.getDouble(bytes, imaginaryPart(position));
    }

    @Override
    public long getLong(MemorySegment bytes, long position) {
        return real.getLong(bytes, realPart(position));
    }

    @Override
    public void setDouble(MemorySegment bytes, long position, double value) {
        setComplex(bytes, position, value, 0);
    }

    @Override
    public void setLong(MemorySegment bytes, long position, long value) {
        real.setLong(bytes, realPart(position), value);
        imaginary.setDouble(bytes, imaginaryPart(position), 0);
    }

    @Override
    public void setComplex(MemorySegment bytes, long position, double realValue, double imaginaryValue) {
        real.setDouble(bytes, realPart(position), realValue);
        imaginary.setDouble(bytes, imaginaryPart(position), imaginaryValue);
    }

    @Override
    public Elements negated() {
        return new ComplexElements(real.negated(), imaginary.negated());
    }

    @Override
    public Elements conjugated() {
        return new ComplexElements(real, imaginary.negated());
    }

    private static long realPart(long position) {
        return Math.multiplyExact(position, 2);
    }

    private static long imaginaryPart(long position) {
        return realPart(position) + 1;
    }
}
