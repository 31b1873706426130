package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Tensor;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/// Compares the planned size of files with the storages of a state and with the free space, before the first byte is
/// written.
///
/// A format that writes elements can write any number of bytes for a small storage: a tensor of shape 2^50 and stride 0
/// has one stored element. A tensor is refused if it becomes both more than [#LARGEST_REPETITION] and more than
/// [#MOST_REPEATED] times the bytes of its storage; smaller ones are limited by the free space.
final class PlannedSize {
    /// The maximum size in bytes of any repetition.
    static final long LARGEST_REPETITION = 1L << 30;
    /// The maximum ratio of a larger repetition to its storage.
    static final long MOST_REPEATED = 16;

    private PlannedSize() {}

    /// {@return the number of bytes of the files}
    ///
    /// @param draft the draft
    /// @param state the state
    /// @param file the file, for messages
    /// @throws IllegalArgumentException if a tensor becomes far more than its storage has
    static long of(Draft draft, StateIndex state, String file) {
        long nbytes;
        try {
            nbytes = Stream.concat(draft.companions().values().stream(), Stream.of(draft)).mapToLong(Draft::nbytes)
                    .reduce(0, Math::addExact);
        } catch (ArithmeticException e) {
            throw tooLarge(state, file, e);
        }
        Optional<Map.Entry<String, Tensor>> repeated = repeated(state);
        // If a format keeps strides, the file contains the storage and not the elements.
        if (repeated.isPresent() && nbytes >= nbytes(repeated.get().getValue())) {
            throw refused(repeated.get(), file);
        }
        return nbytes;
    }

    /// {@return the exception for a state whose files would have more than 2^63-1 bytes}
    ///
    /// @param state the state
    /// @param file the file
    /// @param cause the exception
    static IllegalArgumentException tooLarge(StateIndex state, String file, ArithmeticException cause) {
        IllegalArgumentException refusal = repeated(state).map(tensor -> refused(tensor, file))
                .orElseGet(() -> new IllegalArgumentException(file + ": the state would take more than 2^63-1 bytes"));
        refusal.initCause(cause);
        return refusal;
    }

    /// Returns the largest of the tensors that would take too many bytes.
    private static Optional<Map.Entry<String, Tensor>> repeated(StateIndex state) {
        return state.tensors().entrySet().stream().filter(entry -> isRepeated(entry.getValue()))
                .max(Comparator.comparingLong(entry -> nbytes(entry.getValue())));
    }

    private static boolean isRepeated(Tensor tensor) {
        long nbytes = nbytes(tensor);
        return nbytes > LARGEST_REPETITION && nbytes / MOST_REPEATED > tensor.storage().nbytes();
    }

    private static long nbytes(Tensor tensor) {
        try {
            return tensor.nbytes();
        } catch (ArithmeticException _) {
            return Long.MAX_VALUE;
        }
    }

    private static IllegalArgumentException refused(Map.Entry<String, Tensor> repeated, String file) {
        Tensor tensor = repeated.getValue();
        long nbytes = nbytes(tensor);
        String name = repeated.getKey().isEmpty()
                ? "the state"
                : "the tensor " + FormatException.quote(repeated.getKey());
        String size = nbytes == Long.MAX_VALUE ? "more than 2^63-2 bytes" : nbytes + " bytes";
        return new IllegalArgumentException(file + ": " + name + " of shape " + tensor.shape() + " would become " + size
                + ", of " + tensor.storage().nbytes()
                + " bytes of its storage, as it repeats elements and the format writes "
                + "each of them; write a .croft, .pt or .t7 file, which keeps strides, or a smaller tensor");
    }
}
