package io.undercroft.spark.internal.table;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/// The options of a table.
///
/// @param paths the files, directories and globs
/// @param glob a glob for the names of files; null for all
/// @param root the directory below which bases are; null for the directory of the file that needs them
/// @param mode what happens to what cannot be read
/// @param withAllSnapshots whether there are rows for all snapshots of a file, or for the newest only
/// @param payloadStart the first element of the payload
/// @param maxPayload the maximum number of bytes of the payload of a tensor
public record TableOptions(List<String> paths, @Nullable String glob, @Nullable String root, ReadMode mode,
        boolean withAllSnapshots, long payloadStart, int maxPayload) implements Serializable {
    private static final int DEFAULT_PAYLOAD = 1 << 16;
    /// The JDK has no longer arrays.
    private static final int LONGEST_PAYLOAD = Integer.MAX_VALUE - 8;

    /// {@return the options of a reader}
    ///
    /// @param options their names and values
    /// @throws IllegalArgumentException if one has an invalid value
    public static TableOptions of(CaseInsensitiveStringMap options) {
        return new TableOptions(paths(options), options.get("pathGlobFilter"), options.get("root"),
                ReadMode.of(options.get("mode")), withAllSnapshots(options.getOrDefault("snapshots", "newest")),
                number(options, "payloadStart", 0, Long.MAX_VALUE),
                (int) number(options, "maxPayloadBytes", DEFAULT_PAYLOAD, LONGEST_PAYLOAD));
    }

    private static List<String> paths(CaseInsensitiveStringMap options) {
        String several = options.get("paths");
        String one = options.get("path");
        try {
            return Stream.concat(Stream.ofNullable(one), several == null
                    ? Stream.of()
                    : Arrays.stream(new ObjectMapper().readValue(several, String[].class))).toList();
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("the option paths is no JSON array of texts; give paths to load()", e);
        }
    }

    private static boolean withAllSnapshots(String which) {
        return switch (which.toLowerCase(Locale.ROOT)) {
            case "newest" -> false;
            case "all" -> true;
            default -> throw new IllegalArgumentException("the option snapshots is " + which
                    + "; it may be newest or all");
        };
    }

    private static long number(CaseInsensitiveStringMap options, String name, long otherwise, long most) {
        String text = options.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(text);
            if (number >= 0 && number <= most) {
                return number;
            }
        } catch (NumberFormatException _) {
            // The exception below says what is allowed.
        }
        throw new IllegalArgumentException("the option " + name + " is " + text + "; it may be 0 to " + most);
    }

    /// {@return all columns}
    public StructType schema() {
        StructType schema = new StructType();
        for (TensorColumn column : TensorColumn.values()) {
            if (column != TensorColumn.ERROR || mode == ReadMode.PERMISSIVE) {
                schema = schema.add(column.columnName(), column.type());
            }
        }
        return schema;
    }

    /// What happens to files and tensors that cannot be read, as for other data sources of Spark.
    enum ReadMode {
        /// The job fails.
        FAILFAST,
        /// They give a row with an error.
        PERMISSIVE,
        /// They are skipped.
        DROPMALFORMED;

        /// {@return the mode with a name; the first one for none}
        ///
        /// @throws IllegalArgumentException if there is none
        static ReadMode of(@Nullable String name) {
            String wanted = name == null ? FAILFAST.name() : name.toUpperCase(Locale.ROOT);
            return Arrays.stream(values()).filter(mode -> mode.name().equals(wanted)).findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("the option mode is " + name
                            + "; it may be FAILFAST, PERMISSIVE or DROPMALFORMED"));
        }
    }
}
