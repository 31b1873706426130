package io.undercroft.cli.internal;

import com.fasterxml.jackson.core.JsonGenerator;
import io.undercroft.storage.Complex;
import io.undercroft.storage.DType.Kind;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.math.BigInteger;

/// The elements of a tensor as JSON: an array of them in row-major order.
public final class TensorJson {
    private static final int MOST = 1 << 20;

    private TensorJson() {}

    /// Checks that elements have numbers, and are not too many.
    ///
    /// @param numel the number of elements
    /// @param dtype their type
    /// @throws IllegalArgumentException if they are refused
    public static void requireNumbers(long numel, DType dtype) {
        Kind kind = dtype.kind();
        if (kind == Kind.QUANTIZED || kind == Kind.BITS) {
            throw new IllegalArgumentException("elements of type " + dtype + " have no numbers; leave out "
                    + "--json to see them");
        }
        if (numel > MOST) {
            throw new IllegalArgumentException(
                    "--json prints at most %,d elements, and these are %,d; select some with "
                            .formatted(MOST, numel) + "--rows, or write them with -o");
        }
    }

    /// Writes a member whose value is the array of elements.
    ///
    /// @param json the object
    /// @param name the name of the member
    /// @param tensor a tensor whose elements [#requireNumbers] accepts
    /// @throws IOException if writing fails
    public static void write(Json json, String name, Tensor tensor) throws IOException {
        JsonGenerator generator = json.generator();
        generator.writeArrayFieldStart(name);
        switch (tensor.dtype().kind()) {
            case FLOATING -> {
                for (double number : tensor.toDoubleArray()) {
                    Json.writeDouble(generator, number);
                }
            }
            case COMPLEX -> {
                double[] parts = tensor.resolveConj().resolveNeg().viewAsReal().toDoubleArray();
                for (int i = 0; i < parts.length; i += 2) {
                    Json.writeComplex(generator, new Complex(parts[i], parts[i + 1]));
                }
            }
            default -> {
                for (long number : tensor.toLongArray()) {
                    writeInteger(generator, tensor.dtype(), number);
                }
            }
        }
        generator.writeEndArray();
    }

    private static void writeInteger(JsonGenerator generator, DType dtype, long number) throws IOException {
        if (dtype.kind() == Kind.BOOLEAN) {
            generator.writeBoolean(number != 0);
        } else if (number < 0 && dtype.kind() == Kind.UNSIGNED) {
            generator.writeNumber(new BigInteger(Long.toUnsignedString(number)));
        } else {
            generator.writeNumber(number);
        }
    }
}
