package io.undercroft.serializer.internal;

import io.undercroft.storage.Tensor;
import java.util.function.BiConsumer;

/// Divides a view of a tensor into parts between whose elements there are few other bytes.
final class DenseParts {
    /// The most bytes between two rows that are read together, since fetching them takes no longer than a request.
    private static final long GAP = 16 << 10;

    private DenseParts() {}

    /// Divides a view, and the memory that it is copied to.
    ///
    /// @param view the view
    /// @param target a tensor of the same shape
    /// @param parts called with each part of both
    static void of(Tensor view, Tensor target, BiConsumer<Tensor, Tensor> parts) {
        if (view.numel() == 0) {
            return;
        }
        int outer = -1;
        for (int dim = 0; dim < view.dim(); dim++) {
            if (view.size(dim) > 1
                    && (outer < 0 || Math.abs(view.stride(dim)) > Math.abs(view.stride(outer)))) {
                outer = dim;
            }
        }
        if (outer < 0) {
            parts.accept(view, target);
            return;
        }
        var row = ByteSpan.of(view.narrow(outer, 0, 1));
        long step = view.dtype().nbytes(Math.abs(view.stride(outer)));
        if (step - (row.end() - row.start()) <= GAP) {
            parts.accept(view, target);
            return;
        }
        for (long i = 0; i < view.size(outer); i++) {
            of(view.narrow(outer, i, 1), target.narrow(outer, i, 1), parts);
        }
    }
}
