package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/// The differences between the tensors of a checkpoint and the expected tensors (`missing_keys`, `unexpected_keys` and
/// the size mismatches of PyTorch's `load_state_dict`).
///
/// @param missing expected names that are not in the checkpoint
/// @param unexpected names in the checkpoint that are not expected
/// @param mismatched tensors of another dtype or shape than expected
/// @param conflicting names of tensors whose destination shares bytes with another one, for which the file has
///     different bytes; only [Checkpoint#loadInto] finds these
public record MatchReport(List<String> missing, List<String> unexpected, List<Mismatch> mismatched,
        List<String> conflicting) {
    private static final int MOST_NAMED = 10;

    /// Copies the lists.
    public MatchReport {
        missing = List.copyOf(missing);
        unexpected = List.copyOf(unexpected);
        mismatched = List.copyOf(mismatched);
        conflicting = List.copyOf(conflicting);
    }

    /// A tensor of another dtype or shape than expected.
    ///
    /// @param name the name
    /// @param expected the expected dtype and shape
    /// @param found the dtype and shape in the checkpoint
    public record Mismatch(String name, TensorSpec expected, TensorSpec found) {
        /// {@return the name, the expected and the actual dtype and shape, for messages}
        @Override
        public String toString() {
            return FormatException.quote(name) + " is " + found + " and not " + expected;
        }
    }

    /// {@return whether there are no differences}
    public boolean isExact() {
        return missing.isEmpty() && unexpected.isEmpty() && isLoadable();
    }

    /// {@return whether there are neither mismatched nor conflicting tensors}
    public boolean isLoadable() {
        return mismatched.isEmpty() && conflicting.isEmpty();
    }

    /// {@return the differences in one line, at most ten of each kind}
    @Override
    public String toString() {
        List<String> parts = new ArrayList<>();
        describe(parts, "missing", missing, MatchReport::quoted);
        describe(parts, "unexpected", unexpected, MatchReport::quoted);
        describe(parts, "mismatched", mismatched, Mismatch::toString);
        describe(parts, "in conflict with tensors that share their bytes", conflicting, MatchReport::quoted);
        return parts.isEmpty() ? "everything fits" : String.join("; ", parts);
    }

    private static String quoted(String name) {
        return FormatException.quote(name);
    }

    private static <T> void describe(List<String> parts, String what, Collection<T> found,
            Function<T, String> description) {
        if (!found.isEmpty()) {
            String more = found.size() > MOST_NAMED ? " and " + (found.size() - MOST_NAMED) + " more" : "";
            parts.add(found.stream().limit(MOST_NAMED).map(description)
                    .collect(Collectors.joining(", ", found.size() + " " + what + ": ", more)));
        }
    }
}
