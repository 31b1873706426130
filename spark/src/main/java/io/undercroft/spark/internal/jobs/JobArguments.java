package io.undercroft.spark.internal.jobs;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/// The arguments of a job: paths, options without a value and options with one.
final class JobArguments {
    private final List<String> paths = new ArrayList<>();
    private final Set<String> flags = new HashSet<>();
    private final Map<String, String> values = new HashMap<>();

    /// Reads arguments.
    ///
    /// @param arguments what follows the verb
    /// @param allowedFlags the options without a value
    /// @param allowedValues the options with a value
    /// @throws UsageException if an option is unknown or has no value
    JobArguments(List<String> arguments, Set<String> allowedFlags, Set<String> allowedValues) {
        for (int i = 0; i < arguments.size(); i++) {
            String each = arguments.get(i);
            if (!each.startsWith("--")) {
                paths.add(each);
            } else if (allowedFlags.contains(each)) {
                flags.add(each);
            } else if (!allowedValues.contains(each)) {
                throw new UsageException(each + " is no option of this job; it has "
                        + String.join(", ", allowedFlags) + " " + String.join(", ", allowedValues));
            } else if (++i == arguments.size()) {
                throw new UsageException(each + " needs a value");
            } else {
                values.put(each, arguments.get(i));
            }
        }
    }

    /// The command line is wrong.
    static final class UsageException extends IllegalArgumentException {
        private static final long serialVersionUID = 1;

        UsageException(String message) {
            super(message);
        }
    }

    /// {@return the paths}
    ///
    /// @param least how many there are at least
    /// @param most how many there are at most
    /// @throws UsageException if there are fewer or more
    List<String> paths(int least, int most) {
        if (paths.size() < least || paths.size() > most) {
            throw new UsageException("%d paths are given, and it takes %s".formatted(paths.size(),
                    least == most ? "" + least : "at least " + least));
        }
        return paths;
    }

    /// {@return the options without a value that are given}
    Set<String> flags() {
        return Set.copyOf(flags);
    }

    boolean has(String flag) {
        return flags.contains(flag);
    }

    Optional<String> value(String option) {
        return Optional.ofNullable(values.get(option));
    }

    /// {@return the number that an option has as its value}
    ///
    /// @throws UsageException if it is no number of at least 1
    int number(String option, int otherwise) {
        String text = values.get(option);
        if (text == null) {
            return otherwise;
        }
        try {
            int number = Integer.parseInt(text);
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException _) {
            // The exception below says what is allowed.
        }
        throw new UsageException(option + " is " + text + "; it may be a number from 1");
    }
}
