package io.undercroft.properties.processes;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.Verification;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.LinkedHashMap;
import java.util.Map;

/// A state that carries one number throughout: whoever sees two numbers in it sees two states at once.
final class NumberedState {
    /// Elements of the storages: within a page, of some pages, of many.
    private static final int[] COUNTS = {3, 1000, 20_000};

    private NumberedState() {}

    static Map<String, Object> of(long number) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("number", number);
        for (int count : COUNTS) {
            Tensor tensor = Tensor.full(DType.INT64, number, count);
            state.put("tensor of " + count, tensor);
            state.put("the same of " + count, tensor.narrow(0, 1, count - 1));
        }
        return state;
    }

    /// Reads every byte.
    ///
    /// @param checkpoint a numbered state, in memory that others may write
    /// @return what is wrong with it; empty if nothing is
    static String faultOf(Checkpoint checkpoint) throws IOException {
        if (!(checkpoint.state() instanceof Map<?, ?> state) || !(state.get("number") instanceof Long number)) {
            return "no number in " + checkpoint;
        }
        for (int count : COUNTS) {
            Tensor tensor = checkpoint.tensor("tensor of " + count);
            if (tensor.numel() != count || checkpoint.tensor("the same of " + count).storage() != tensor.storage()) {
                return "other tensors in " + checkpoint;
            }
            if (!carries(tensor.storage().segment(), number)) {
                return "another number than " + number + " in the tensor of " + count;
            }
        }
        Verification verification = checkpoint.verify();
        return verification.damages().isEmpty() ? "" : verification.damages().toString();
    }

    /// {@return whether all 64-bit integers of some memory are the same number}
    static boolean carries(MemorySegment bytes, long number) {
        long count = bytes.byteSize() / Long.BYTES;
        for (long i = 0; i < count; i++) {
            if (bytes.getAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i) != number) {
                return false;
            }
        }
        return true;
    }
}
