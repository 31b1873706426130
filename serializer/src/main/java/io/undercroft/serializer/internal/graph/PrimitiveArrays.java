package io.undercroft.serializer.internal.graph;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;

/// Arrays of primitive values as bytes, little-endian; truth values are bytes of 0 and 1.
final class PrimitiveArrays {
    private PrimitiveArrays() {}

    /// {@return the bytes of an array}
    ///
    /// @param array of primitive values
    /// @throws IllegalArgumentException if there are 2^31 of them or more
    static byte[] toBytes(Object array) {
        int length = Array.getLength(array);
        if (array instanceof boolean[] truths) {
            byte[] bytes = new byte[length];
            for (int i = 0; i < length; i++) {
                bytes[i] = (byte) (truths[i] ? 1 : 0);
            }
            return bytes;
        }
        ValueLayout layout = layout(array.getClass().componentType());
        long nbytes = length * layout.byteSize();
        if (nbytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    nbytes + " bytes are too many for an array in a state; save them as a tensor");
        }
        byte[] bytes = new byte[(int) nbytes];
        MemorySegment.copy(array, 0, MemorySegment.ofArray(bytes), layout, 0, length);
        return bytes;
    }

    /// {@return the array of given bytes}
    ///
    /// @param component the class of its values
    /// @param bytes theirs
    /// @throws io.undercroft.format.FormatException if there is a part of a value
    static Object ofBytes(Class<?> component, byte[] bytes) {
        if (component == boolean.class) {
            boolean[] truths = new boolean[bytes.length];
            for (int i = 0; i < bytes.length; i++) {
                truths[i] = bytes[i] != 0;
            }
            return truths;
        }
        ValueLayout layout = layout(component);
        if (bytes.length % layout.byteSize() != 0) {
            throw ObjectFaults.damaged("has " + bytes.length + " bytes for values of " + layout.byteSize());
        }
        int length = (int) (bytes.length / layout.byteSize());
        Object array = Array.newInstance(component, length);
        MemorySegment.copy(MemorySegment.ofArray(bytes), layout, 0, array, 0, length);
        return array;
    }

    private static ValueLayout layout(Class<?> component) {
        ValueLayout layout = switch (component.getName()) {
            case "byte" -> ValueLayout.JAVA_BYTE;
            case "char" -> ValueLayout.JAVA_CHAR_UNALIGNED;
            case "short" -> ValueLayout.JAVA_SHORT_UNALIGNED;
            case "int" -> ValueLayout.JAVA_INT_UNALIGNED;
            case "long" -> ValueLayout.JAVA_LONG_UNALIGNED;
            case "float" -> ValueLayout.JAVA_FLOAT_UNALIGNED;
            case "double" -> ValueLayout.JAVA_DOUBLE_UNALIGNED;
            default -> throw new IllegalArgumentException(component.getTypeName() + " is no class of numbers");
        };
        return layout.withOrder(LITTLE_ENDIAN);
    }
}
