package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.undercroft.interop.internal.ShardIndex;
import java.util.Locale;
import java.util.Map;

/// An index that is being written. It is ASCII, since Python reads it in whatever encoding a system has.
final class IndexText {
    /// The metadata that says how many bytes the tensors have.
    static final String TOTAL_SIZE = "total_size";

    private final StringBuilder text = new StringBuilder();

    private IndexText() {}

    /// {@return an index}
    ///
    /// @param shards the file of each tensor
    /// @param totalSize how many bytes the tensors have
    /// @param metadata what else is said; a total size in it is not that of these tensors
    static byte[] of(Map<String, String> shards, long totalSize, Map<String, String> metadata) {
        IndexText index = new IndexText();
        // The map comes first: by the first shard in it an index is told from other JSON.
        index.text.append("{\n  \"" + ShardIndex.MAP + "\": {");
        String separator = "";
        for (Map.Entry<String, String> shard : shards.entrySet()) {
            index.text.append(separator);
            index.member(shard.getKey(), shard.getValue());
            separator = ",";
        }
        index.text.append("\n  },\n  \"" + ShardIndex.METADATA + "\": {\n    \"" + TOTAL_SIZE + "\": ")
                .append(totalSize);
        metadata.forEach((key, value) -> {
            if (!key.equals(TOTAL_SIZE)) {
                index.text.append(',');
                index.member(key, value);
            }
        });
        return index.text.append("\n  }\n}\n").toString().getBytes(US_ASCII);
    }

    private void member(String name, String value) {
        text.append("\n    ");
        quote(name);
        text.append(": ");
        quote(value);
    }

    private void quote(String string) {
        text.append('"');
        string.chars().forEach(unit -> {
            if (unit == '"' || unit == '\\') {
                text.append('\\').append((char) unit);
            } else if (unit < ' ' || unit > '~') {
                text.append(String.format(Locale.ROOT, "\\u%04x", unit));
            } else {
                text.append((char) unit);
            }
        });
        text.append('"');
    }
}
