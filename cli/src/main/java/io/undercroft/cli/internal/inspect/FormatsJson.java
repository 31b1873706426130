package io.undercroft.cli.internal.inspect;

import io.undercroft.cli.internal.Json;
import io.undercroft.cli.internal.Output;
import io.undercroft.serializer.Checkpoint;
import java.io.IOException;
import java.util.Locale;

/// The known formats and their settings, for programs.
public final class FormatsJson {
    private FormatsJson() {}

    /// Writes one JSON object, as `docs/inspect-json.md` describes it.
    ///
    /// @param out the destination
    /// @throws IOException never, as `out` throws its own exceptions
    public static void print(Output out) throws IOException {
        Json.print(out, all -> all
                .list("formats", Checkpoint.formats(), (json, format) -> json.member("name", format.name())
                        .values("suffixes", format.suffixes())
                        .values("capabilities",
                                format.capabilities().stream().sorted().map(FormatsJson::word).toList()))
                .list("settings", Checkpoint.formats().stream().flatMap(format -> format.settings().stream()).distinct()
                        .toList(),
                        (json, setting) -> json.member("name", setting.name()).member("use", word(setting.use()))
                                .member("values", setting.values())));
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
