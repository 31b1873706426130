package io.undercroft.serializer.internal.loading;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.internal.Lazy;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.internal.support.NearNames;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// Finds tensors by a name, a raw name ([StateIndex#rawName]), the name of the tensor in another file with the same
/// keys, or an alias. Safe for any thread.
///
/// An exact name is tried first, without reading other names. Only if there is none are all names read, once; those
/// that differ from their raw names are kept.
public final class NameLookup {
    private static final int MOST_SHOWN = 3;
    private static final int MOST_LISTED = 12;

    private final Predicate<String> contains;
    private final Predicate<Predicate<String>> names;
    private final Supplier<Map<String, String>> aliases;
    private final Lazy<Map<String, List<String>>> byRawName = new Lazy<>(this::findByRawName);

    /// Finds names of what has no aliases.
    ///
    /// @param contains whether there is a name
    /// @param names whether any name passes a test, which is called for one name after the other until one passes
    public NameLookup(Predicate<String> contains, Predicate<Predicate<String>> names) {
        this(contains, names, Map::of);
    }

    /// Finds the names and aliases of the tensors of a file.
    ///
    /// @param contents what is in the file
    public NameLookup(Contents contents) {
        this(contents::contains, contents::anyName, contents::aliases);
    }

    private NameLookup(Predicate<String> contains, Predicate<Predicate<String>> names,
            Supplier<Map<String, String>> aliases) {
        this.contains = contains;
        this.names = names;
        this.aliases = aliases;
    }

    /// {@return the names that match: one if it is unambiguous, none if there is no such tensor}
    ///
    /// @param typed a name or a raw name
    public List<String> candidates(String typed) {
        if (contains.test(typed)) {
            return List.of(typed);
        }
        return Stream.concat(ofRawName(typed).stream(), withSameKeys(typed).stream()).distinct().toList();
    }

    /// {@return the names whose keys are those of a name in another file, however maps nest there and here}
    ///
    /// @param name the name in the other file
    public List<String> withSameKeys(String name) {
        if (contains.test(name)) {
            return List.of(name);
        }
        String rawName = StateIndex.rawName(name);
        List<String> found = contains.test(rawName)
                ? Stream.concat(Stream.of(rawName), ofRawName(rawName).stream()).toList()
                : ofRawName(rawName);
        String ofAlias = found.isEmpty() ? aliases.get().get(name) : null;
        return ofAlias == null || !contains.test(ofAlias) ? found : List.of(ofAlias);
    }

    /// {@return the name that matches, if it is unambiguous}
    ///
    /// @param typed a name or a raw name
    public Optional<String> find(String typed) {
        List<String> candidates = candidates(typed);
        return candidates.size() == 1 ? Optional.of(candidates.getFirst()) : Optional.empty();
    }

    /// {@return the shortest text with which [#find] finds a name: the raw name if it is unambiguous}
    ///
    /// @param name one of the names
    public String shortest(String name) {
        String rawName = StateIndex.rawName(name);
        return find(rawName).filter(name::equals).isPresent() ? rawName : name;
    }

    /// {@return the text to append to a message that there is no tensor of a name: the names that may have been meant}
    ///
    /// @param typed a name for which [#find] found nothing
    /// @param all the names that are searched for similar ones
    public String hint(String typed, Iterable<String> all) {
        List<String> candidates = candidates(typed);
        return candidates.isEmpty()
                ? near(typed, all)
                : ", but " + candidates.size() + " that have these keys: "
                        + candidates.stream().limit(MOST_SHOWN).map(NameLookup::whole)
                                .collect(Collectors.joining(", "))
                        + (candidates.size() > MOST_SHOWN ? ", …" : "") + "; name one of them as it is";
    }

    private String near(String typed, Iterable<String> all) {
        return NearNames.question(typed, all,
                name -> Math.min(distance(typed, name), distance(typed, StateIndex.rawName(name))),
                this::quoted).orElseGet(() -> containing(typed, all));
    }

    /// Lists the names that contain a part of a name.
    private String containing(String typed, Iterable<String> all) {
        List<String> first = new ArrayList<>();
        int count = 0;
        for (String name : all) {
            if (!typed.isEmpty() && contains(name, typed)) {
                count++;
                if (first.size() < MOST_LISTED) {
                    first.add(quoted(name));
                }
            }
        }
        return count == 0
                ? ""
                : "; " + (count == 1 ? "one name contains it: " : count + " names contain it: ")
                        + String.join(", ", first)
                        + (count > first.size() ? " and " + (count - first.size()) + " more" : "");
    }

    private static boolean contains(String name, String part) {
        String rawName = StateIndex.rawName(name);
        return IntStream.rangeClosed(0, rawName.length() - part.length())
                .anyMatch(at -> rawName.regionMatches(true, at, part, 0, part.length()));
    }

    private String quoted(String name) {
        return whole(shortest(name));
    }

    /// A name without its leading path, or with a longer one, has the distance 0.
    private static int distance(String typed, String name) {
        boolean isTail = name.endsWith("/" + typed) || typed.endsWith("/" + name);
        return isTail ? 0 : NearNames.edits(typed, name);
    }

    /// A name in quotes, whole, so that it can be copied.
    private static String whole(String name) {
        return "'" + FormatException.printable(name) + "'";
    }

    /// Names without escapes are their own raw names.
    private List<String> ofRawName(String rawName) {
        boolean mayDiffer = rawName.indexOf('/') >= 0 || rawName.indexOf('~') >= 0;
        return mayDiffer ? byRawName.get().getOrDefault(rawName, List.of()) : List.of();
    }

    private Map<String, List<String>> findByRawName() {
        Map<String, List<String>> found = new HashMap<>();
        var _ = names.test(name -> {
            if (name.indexOf('~') >= 0) {
                found.computeIfAbsent(StateIndex.rawName(name), _ -> new ArrayList<>(1)).add(name);
            }
            return false;
        });
        return found;
    }
}
