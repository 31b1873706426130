package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Setting.Use;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.storage.spi.NearNames;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/// The settings of the known formats and stores.
public final class Settings {
    private Settings() {}

    /// Refuses a name that no known format has, as it is probably misspelt. A setting of another format than that of
    /// the file is accepted, since options may be used for several files.
    ///
    /// @param names the values by the names of their settings
    /// @param use the use
    /// @throws IllegalArgumentException if no known format has a setting of such a name for that
    public static void check(Collection<String> names, Use use) {
        if (names.isEmpty()) {
            return;
        }
        List<Setting> known = new ArrayList<>(Stores.settings());
        Formats.all().forEach(format -> known.addAll(format.settings()));
        List<String> fitting = names(known, use);
        for (String name : names) {
            if (!fitting.contains(name)) {
                throw unknown(name, use, fitting, names(known, other(use)));
            }
        }
    }

    /// Refuses a setting that the format of a file to write does not have.
    ///
    /// @param file the file
    /// @param format its format
    /// @param names the values, by the names of the settings, each of a known format
    /// @throws IllegalArgumentException if the format does not have one of them
    public static void requireApplying(String file, CheckpointFormat format, Collection<String> names) {
        for (String name : names) {
            if (!writes(format, name)) {
                String others = Formats.all().stream().filter(other -> writes(other, name)).map(CheckpointFormat::name)
                        .collect(Collectors.joining(", "));
                others = others.isEmpty() ? "a store" : others;
                throw new IllegalArgumentException(file + ": the setting " + FormatException.quote(name)
                        + " does not apply to files of " + format.name() + "; it is for those of " + others
                        + ". Leave it out, or write another file");
            }
        }
    }

    private static boolean writes(CheckpointFormat format, String name) {
        return format.settings().stream()
                .anyMatch(setting -> setting.use() == Use.WRITING && setting.name().equals(name));
    }

    private static List<String> names(List<Setting> known, Use use) {
        return known.stream().filter(setting -> setting.use() == use).map(Setting::name).distinct().sorted().toList();
    }

    private static IllegalArgumentException unknown(String name, Use use, List<String> fitting, List<String> others) {
        String quoted = FormatException.quote(name);
        if (others.contains(name)) {
            return new IllegalArgumentException(
                    "the setting " + quoted + " is for " + files(other(use)) + ", not for " + files(use));
        }
        return new IllegalArgumentException("there is no setting " + quoted + " for " + files(use)
                + hint(name, use, fitting, others));
    }

    private static String hint(String name, Use use, List<String> fitting, List<String> others) {
        return NearNames.question(name, fitting)
                .or(() -> NearNames.question(name, others).map(near -> near + " It is for " + files(other(use))))
                .orElseGet(() -> fitting.isEmpty()
                        ? "; no known format has any"
                        : "; there are " + String.join(", ", fitting));
    }

    private static Use other(Use use) {
        return use == Use.OPENING ? Use.WRITING : Use.OPENING;
    }

    private static String files(Use use) {
        return use == Use.OPENING ? "opening files" : "writing files";
    }
}
