package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/// How the tensors of a checkpoint fit those that are expected (`missing_keys`, `unexpected_keys` and the size
/// mismatches of PyTorch's `load_state_dict`).
///
/// @param missing names that are expected and that the checkpoint does not have
/// @param unexpected names that the checkpoint has and that are not expected
/// @param mismatched tensors that are not what is expected
/// @param conflicting names of tensors that share bytes with another one where they are loaded to, while the file has
///     different bytes for the two; only [Checkpoint#loadInto] finds such
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

    /// A tensor that is not what is expected.
    ///
    /// @param name its name
    /// @param expected what it should be
    /// @param found what it is in the checkpoint
    public record Mismatch(String name, TensorSpec expected, TensorSpec found) {
        /// {@return name, both, for messages}
        @Override
        public String toString() {
            return FormatException.quote(name) + " is " + found + " and not " + expected;
        }
    }

    /// {@return whether everything fits}
    public boolean isExact() {
        return missing.isEmpty() && unexpected.isEmpty() && isLoadable();
    }

    /// {@return whether what both have fits}
    public boolean isLoadable() {
        return mismatched.isEmpty() && conflicting.isEmpty();
    }

    /// {@return the differences in one line; of each kind the first ten}
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
