package io.undercroft.serializer.internal.loading;

import io.undercroft.serializer.internal.tree.StateIndex;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/// A pattern for names of tensors: segments between slashes, in which `*` stands for any characters, `?` for one and
/// `\` makes the next character literal; the segment `**` stands for any number of segments. It matches a name as
/// it is, and as a raw name ([StateIndex#rawName]), in which a slash in a key is one between segments.
///
/// The time to match is at most proportional to the product of both lengths, for any pattern.
public final class Glob implements Predicate<String> {
    private final String pattern;
    private final Sequence<String> segments;

    private Glob(String pattern, Sequence<String> segments) {
        this.pattern = pattern;
        this.segments = segments;
    }

    /// Tests that items have to pass one after the other. A null stands for any number of items.
    private record Sequence<T>(List<@Nullable Predicate<T>> tests) {
        /// If a later star can be reached at all, then with as few items as possible for the ones before it: so
        /// matching only backtracks to the last one.
        boolean matches(List<T> items) {
            int test = 0;
            int item = 0;
            int star = -1;
            int starEnd = 0;
            while (item < items.size()) {
                if (test < tests.size() && tests.get(test) == null) {
                    star = test++;
                    starEnd = item;
                } else if (test < tests.size() && passes(test, items.get(item))) {
                    test++;
                    item++;
                } else if (star >= 0) {
                    test = star + 1;
                    item = ++starEnd;
                } else {
                    return false;
                }
            }
            return tests.subList(test, tests.size()).stream().allMatch(left -> left == null);
        }

        private boolean passes(int test, T item) {
            Predicate<T> asked = tests.get(test);
            return asked != null && asked.test(item);
        }
    }

    /// Parses a pattern. Every text is a pattern.
    ///
    /// @param pattern the pattern
    /// @return the predicate of names
    public static Glob parse(String pattern) {
        List<@Nullable Predicate<String>> tests = new ArrayList<>();
        for (String segment : segments(pattern)) {
            tests.add(segment.equals("**") ? null : segment(segment));
        }
        return new Glob(pattern, new Sequence<>(tests));
    }

    private static Predicate<String> segment(String pattern) {
        List<@Nullable Predicate<Integer>> tests = new ArrayList<>();
        int[] points = pattern.codePoints().toArray();
        for (int i = 0; i < points.length; i++) {
            switch (points[i]) {
                case '*' -> tests.add(null);
                case '?' -> tests.add(_ -> true);
                case '\\' -> {
                    i = Math.min(i + 1, points.length - 1);
                    tests.add(character(points[i]));
                }
                default -> tests.add(character(points[i]));
            }
        }
        Sequence<Integer> sequence = new Sequence<>(tests);
        return segment -> sequence.matches(segment.codePoints().boxed().toList());
    }

    private static Predicate<Integer> character(int wanted) {
        return point -> point == wanted;
    }

    @Override
    public boolean test(String name) {
        return segments.matches(segments(name))
                || (name.indexOf('~') >= 0 && segments.matches(segments(StateIndex.rawName(name))));
    }

    /// {@return the pattern as it was given}
    @Override
    public String toString() {
        return pattern;
    }

    private static List<String> segments(String text) {
        return Stream.of(text.split("/", -1)).toList();
    }
}
