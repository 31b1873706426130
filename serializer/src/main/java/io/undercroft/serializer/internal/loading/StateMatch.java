package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.MatchReport;
import io.undercroft.serializer.MatchReport.Mismatch;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.spi.Contents;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiPredicate;

/// Compares the tensors of a checkpoint with those that are expected, by what describes them.
public final class StateMatch {
    private StateMatch() {}

    /// {@return how they fit}
    ///
    /// @param contents the checkpoint
    /// @param expected what there should be
    /// @param fits told what is found and what is expected
    /// @throws FormatException if what describes the state or a tensor is damaged
    public static MatchReport compare(Contents contents, Map<String, TensorSpec> expected,
            BiPredicate<TensorSpec, TensorSpec> fits) {
        List<String> missing = new ArrayList<>();
        List<Mismatch> mismatched = new ArrayList<>();
        expected.forEach((name, spec) -> {
            Optional<TensorSpec> found = contents.spec(name);
            if (found.isEmpty()) {
                missing.add(name);
            } else if (!fits.test(found.get(), spec)) {
                mismatched.add(new Mismatch(name, spec, found.get()));
            }
        });
        List<String> unexpected = contents.names().stream().filter(name -> !expected.containsKey(name)).toList();
        return new MatchReport(missing, unexpected, mismatched, List.of());
    }
}
