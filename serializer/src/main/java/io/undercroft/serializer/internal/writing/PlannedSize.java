package io.undercroft.serializer.internal.writing;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.analysis.Sizes;
import io.undercroft.serializer.analysis.TensorBlocks;
import io.undercroft.serializer.spi.Draft;
import io.undercroft.serializer.spi.ReadBudget;
import io.undercroft.serializer.state.StateIndex;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.spi.SparseSource;
import java.util.Comparator;
import java.util.Map;
import java.util.stream.Stream;

/// Compares the planned size of files with what the storages of a state store, before the first byte is written.
///
/// A format that writes elements can write any number of bytes for a small storage: a tensor of shape 2^50 and stride 0
/// has one stored element. The limit is [ReadBudget#mostElementBytes] unless the options have another one.
final class PlannedSize {
    private PlannedSize() {}

    /// {@return the number of bytes of the files}
    ///
    /// @param draft the draft
    /// @param state the state
    /// @param file the file, for messages
    /// @param options the options of the save
    /// @throws IllegalArgumentException if that is far more than the storages have
    static long of(Draft draft, StateIndex state, String file, SaveOptions options) {
        long most = options.largest().orElseGet(() -> ReadBudget.mostElementBytes(stored(state)));
        long nbytes;
        try {
            nbytes = Stream.concat(draft.companions().values().stream(), Stream.of(draft)).mapToLong(Draft::nbytes)
                    .reduce(0, Math::addExact);
        } catch (ArithmeticException e) {
            throw tooLarge(state, file, e);
        }
        if (nbytes > most) {
            throw refused(state, file, nbytes + " bytes", most);
        }
        return nbytes;
    }

    private static long stored(StateIndex state) {
        return Sizes.sum(state.storages().stream().filter(storage -> !storage.isMeta())
                .mapToLong(PlannedSize::stored));
    }

    private static long stored(Storage storage) {
        return storage.source().orElse(null) instanceof SparseSource source
                ? storage.nbytes() - source.zeros().stream().mapToLong(run -> run.end() - run.start()).sum()
                : storage.nbytes();
    }

    /// {@return the exception for a state whose files would have more than 2^63-1 bytes}
    ///
    /// @param state the state
    /// @param file the file
    /// @param cause the exception
    static IllegalArgumentException tooLarge(StateIndex state, String file, ArithmeticException cause) {
        IllegalArgumentException refusal = refused(state, file, "more than 2^63-1 bytes", Long.MAX_VALUE);
        refusal.initCause(cause);
        return refusal;
    }

    /// Names the tensor that takes the most bytes.
    private static IllegalArgumentException refused(StateIndex state, String file, String size, long most) {
        String largest = state.tensors().entrySet().stream()
                .max(Comparator.comparingLong(entry -> TensorBlocks.nbytes(entry.getValue())))
                .map(PlannedSize::described).orElse("");
        return ReadBudget.tooLargeToWrite(file + ": the state would become " + size + ", and " + most
                + " are allowed for what is stored of it" + largest);
    }

    private static String described(Map.Entry<String, Tensor> entry) {
        Tensor tensor = entry.getValue();
        String name = entry.getKey().isEmpty()
                ? ""
                : "; its largest tensor is " + FormatException.quote(entry.getKey());
        return TensorBlocks.nbytes(tensor) <= tensor.storage().nbytes()
                ? name
                : name + "; " + tensor.storage().nbytes() + " bytes of its storage are repeated to the shape "
                        + tensor.shape() + ", and the format writes each element, while .croft, .pt and .t7 files keep"
                        + " strides";
    }
}
