package io.undercroft.interop.internal;

import io.undercroft.serializer.spi.Output;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.ref.Reference;

/// The elements of tensors, written out.
public final class TensorBytes {
    private TensorBytes() {}

    /// Writes the elements of a tensor in row-major order. Only those of a tensor that has them otherwise are copied before.
    ///
    /// @param tensor a tensor with bytes
    /// @param output where to
    /// @throws IOException if writing fails
    public static void write(Tensor tensor, Output output) throws IOException {
        if (tensor.numel() == 0) {
            return;
        }
        Tensor whole = tensor.cpu().contiguous();
        try {
            output.write(whole.bytes());
        } finally {
            // A copy's memory goes with the tensor, not with the segment.
            Reference.reachabilityFence(whole);
        }
    }
}
