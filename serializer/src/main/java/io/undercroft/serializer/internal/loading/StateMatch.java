package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.MatchReport;
import io.undercroft.serializer.MatchReport.Mismatch;
import io.undercroft.serializer.TensorSpec;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Function;

/// The comparison of the tensors of a checkpoint with expected ones, by dtype and shape.
///
/// @param report the report of the comparison
/// @param names for each expected name that was found, the name in the checkpoint: the same one, or else the only one
///     with the same keys, as in a file of a format without nested maps
public record StateMatch(MatchReport report, Map<String, String> names) {
    /// {@return the result of comparing them}
    ///
    /// @param contents the checkpoint
    /// @param expected the expected tensors
    /// @param fits receives what is found and what is expected
    /// @throws FormatException if what describes the state or a tensor is damaged
    public static StateMatch compare(Contents contents, Map<String, TensorSpec> expected,
            BiPredicate<TensorSpec, TensorSpec> fits) {
        return compare(contents.names(), new NameLookup(contents), contents::spec, expected, fits);
    }

    /// {@return the result of comparing tensors}
    ///
    /// @param all the names of those that were found
    /// @param lookup finds them
    /// @param specs what they are, by their names
    /// @param expected the expected tensors
    /// @param fits receives what is found and what is expected
    public static StateMatch compare(Collection<String> all, NameLookup lookup,
            Function<String, Optional<TensorSpec>> specs, Map<String, TensorSpec> expected,
            BiPredicate<TensorSpec, TensorSpec> fits) {
        Map<String, String> names = names(lookup, expected.keySet());
        List<String> missing = new ArrayList<>();
        List<Mismatch> mismatched = new ArrayList<>();
        expected.forEach((name, spec) -> {
            Optional<TensorSpec> found = Optional.ofNullable(names.get(name)).flatMap(specs);
            if (found.isEmpty()) {
                missing.add(name);
            } else if (!fits.test(found.get(), spec)) {
                mismatched.add(new Mismatch(name, spec, found.get()));
            }
        });
        Set<String> used = new HashSet<>(names.values());
        List<String> unexpected = all.stream().filter(name -> !used.contains(name)).toList();
        return new StateMatch(new MatchReport(missing, unexpected, mismatched, List.of()), names);
    }

    /// {@return a test whether one tensor can be copied into another: the shapes have to be the same, and the elements
    /// convertible} For use by one thread.
    public static BiPredicate<TensorSpec, TensorSpec> canBeCopied() {
        Map<List<DType>, Boolean> convertible = new HashMap<>();
        return (found, wanted) -> found.shape().equals(wanted.shape()) && (found.dtype().equals(wanted.dtype())
                || convertible.computeIfAbsent(List.of(found.dtype(), wanted.dtype()),
                        pair -> canConvert(pair.get(0), pair.get(1))));
    }

    private static boolean canConvert(DType from, DType to) {
        try {
            var _ = Tensor.zeros(to, 1).copyFrom(Tensor.zeros(from, 1));
            return true;
        } catch (UnsupportedOperationException _) {
            return false;
        }
    }

    /// No name of the checkpoint is matched by two expected names, and an expected name that is missing does not match
    /// another expected one.
    private static Map<String, String> names(NameLookup lookup, Set<String> expected) {
        Map<String, String> names = new HashMap<>();
        Set<String> taken = new HashSet<>();
        for (String name : expected) {
            Optional.of(lookup.withSameKeys(name)).filter(found -> found.size() == 1).map(List::getFirst)
                    .filter(found -> found.equals(name) || !expected.contains(found))
                    .filter(taken::add).ifPresent(found -> names.put(name, found));
        }
        return names;
    }
}
