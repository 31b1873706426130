package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.format.internal.Snapshot;
import java.util.Collection;
import java.util.stream.Collectors;

/// The names of tensors of a file for messages.
final class TensorNames {
    private static final int MOST_NAMED = 5;

    private TensorNames() {}

    /// {@return a few tensors by name, and how many more there are}
    ///
    /// @param snapshot the snapshot that contains them
    /// @param tensors their numbers
    static String of(Snapshot snapshot, Collection<Integer> tensors) {
        String named = tensors.stream().limit(MOST_NAMED).map(tensor -> of(snapshot, tensor))
                .collect(Collectors.joining(", "));
        return switch (tensors.size()) {
            case 0 -> "no tensor";
            case 1 -> "tensor " + named;
            default -> "tensors " + named
                    + (tensors.size() > MOST_NAMED ? " and " + (tensors.size() - MOST_NAMED) + " more" : "");
        };
    }

    /// A tensor may have no name, or one that is damaged.
    private static String of(Snapshot snapshot, int tensor) {
        try {
            int name = snapshot.nameOfTensor(tensor);
            return name < 0 ? "number " + tensor : FormatException.quote(snapshot.name(name));
        } catch (FormatException _) {
            return "number " + tensor;
        }
    }
}
