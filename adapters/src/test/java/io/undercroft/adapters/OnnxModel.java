package io.undercroft.adapters;

import ai.djl.ndarray.NDManager;
import ai.onnxruntime.OrtEnvironment;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/// A model of one matrix product, `y = x w`, as the bytes of an ONNX file. All sizes stay below 128, so that each
/// number and length is one byte of protobuf.
final class OnnxModel {
    private static final int FLOAT = 1;
    private static final int IR_VERSION = 8;
    private static final int OPSET = 13;

    private OnnxModel() {}

    /// The environment of ONNX Runtime, of which there is one in a process. DJL's engine wants to make it itself, so it
    /// comes first.
    static OrtEnvironment environment() {
        NDManager.newBaseManager("OnnxRuntime").close();
        return OrtEnvironment.getEnvironment();
    }

    static byte[] product(int rows, int inner, int columns) {
        byte[] node = join(text(1, "x"), text(1, "w"), text(2, "y"), text(4, "MatMul"));
        byte[] graph = join(part(1, node), text(2, "g"), part(11, matrix("x", rows, inner)),
                part(11, matrix("w", inner, columns)), part(12, matrix("y", rows, columns)));
        return join(number(1, IR_VERSION), longPart(7, graph), part(8, number(2, OPSET)));
    }

    private static byte[] matrix(String name, int rows, int columns) {
        byte[] shape = join(part(1, number(1, rows)), part(1, number(1, columns)));
        return join(text(1, name), part(2, part(1, join(number(1, FLOAT), part(2, shape)))));
    }

    private static byte[] text(int field, String value) {
        return part(field, value.getBytes(StandardCharsets.US_ASCII));
    }

    private static byte[] number(int field, int value) {
        return new byte[]{(byte) (field << 3), (byte) value};
    }

    private static byte[] part(int field, byte[] content) {
        return join(new byte[]{(byte) ((field << 3) | 2), (byte) content.length}, content);
    }

    /// A part of up to 16 383 bytes.
    private static byte[] longPart(int field, byte[] content) {
        return join(
                new byte[]{(byte) ((field << 3) | 2), (byte) ((content.length & 127) | 128),
                        (byte) (content.length >> 7)},
                content);
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }
}
