package io.undercroft.serializer.internal;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Setting;
import io.undercroft.serializer.spi.Setting.Use;
import io.undercroft.storage.internal.support.NearNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/// The settings of the known formats and stores.
public final class Settings {
    private Settings() {}

    /// Refuses a setting that no known format or store has for opening files, as it is probably misspelt. A setting of
    /// another format than that of the file is accepted, since options may be used for several files.
    ///
    /// @param options the options for opening
    /// @throws IllegalArgumentException if no known format or store has a setting of such a name for that
    public static void check(OpenOptions options) {
        check(options.settings().keySet(), Use.OPENING);
    }

    /// Refuses a setting that the format of a file to write does not have.
    ///
    /// @param file the file
    /// @param format its format
    /// @param options the options of the save
    /// @param ofStore the settings of the store that the file is saved to
    /// @throws IllegalArgumentException if neither the format nor the store has one of them
    public static void check(String file, CheckpointFormat format, SaveOptions options, Set<String> ofStore) {
        check(options.settings().keySet(), Use.WRITING);
        for (String name : options.settings().keySet()) {
            if (!writes(format, name) && !ofStore.contains(name)) {
                String others = Formats.all().stream().filter(other -> writes(other, name)).map(CheckpointFormat::name)
                        .collect(Collectors.joining(", "));
                others = others.isEmpty() ? "a store" : others;
                throw new IllegalArgumentException(file + ": the setting " + FormatException.quote(name)
                        + " does not apply to files of " + format.name() + "; it is for those of " + others
                        + ". Leave it out, or write another file");
            }
        }
    }

    private static void check(Set<String> names, Use use) {
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
