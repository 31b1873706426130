package io.undercroft.interop.safetensors;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.JsonReader;
import io.undercroft.mmap.MappedFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.LinkedHashMap;
import java.util.SequencedMap;

/// What an index says.
///
/// @param shards the file that each tensor is in, by the name of the tensor, in the order of the index
/// @param metadata what is said about the model, as text
record ShardIndex(SequencedMap<String, String> shards, SequencedMap<String, String> metadata) {
    static final String MAP = "weight_map";

    /// Reads an index.
    ///
    /// @param file the file
    /// @return what it says; the names of files are plain names, without a directory
    static ShardIndex read(MappedFile file) throws IOException {
        if (file.size() > Header.LONGEST) {
            throw refused("the index has " + file.size() + " bytes and not up to " + Header.LONGEST, 0);
        }
        byte[] text = new byte[(int) file.size()];
        file.read(0, MemorySegment.ofArray(text));
        ShardIndex index = new ShardIndex(new LinkedHashMap<>(), new LinkedHashMap<>());
        JsonReader json = new JsonReader(text, 0);
        json.object(member -> index.read(member, json));
        json.end();
        if (index.shards.isEmpty()) {
            throw refused("the index names no tensors in a " + MAP, 0);
        }
        return index;
    }

    private void read(String member, JsonReader json) {
        switch (member) {
            case MAP -> json.object(name -> {
                if (shards.putIfAbsent(name, checked(json.string(), json)) != null) {
                    throw refused("the tensor " + FormatException.quote(name) + " is there twice", json.position());
                }
            });
            case "metadata" -> json.object(key -> {
                if (json.isString()) {
                    metadata.put(key, json.string());
                } else if (json.isLiteral()) {
                    metadata.put(key, json.literal());
                } else {
                    json.skip();
                }
            });
            default -> json.skip();
        }
    }

    private static String checked(String shard, JsonReader json) {
        boolean plain = !shard.isBlank() && !shard.startsWith(".")
                && shard.chars().noneMatch(c -> c == '/' || c == '\\' || c == ':' || c < ' ');
        if (!plain) {
            throw refused("the shard " + FormatException.quote(shard) + " is no plain name of a file",
                    json.position());
        }
        return shard;
    }

    static FormatException refused(String what, long offset) {
        return new FormatException("SAFETENSORS-INDEX", what, offset, Header.DAMAGED);
    }
}
