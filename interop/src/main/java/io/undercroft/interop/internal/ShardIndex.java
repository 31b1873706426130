package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.spi.Draft;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;

/// An index: the JSON that transformers writes next to a model in several files, the *shards*.
///
/// @param shards the file that each tensor is in, by the name of the tensor, in the order of the index; plain names,
///     without a directory
/// @param aliases further names of these tensors, each with its name in the index
/// @param metadata the metadata of the model, as text
public record ShardIndex(SequencedMap<String, String> shards, SequencedMap<String, String> aliases,
        SequencedMap<String, String> metadata) {
    /// The member with the shards.
    public static final String MAP = "weight_map";
    /// The member with the metadata.
    public static final String METADATA = "metadata";

    /// The maximum size of an index in bytes, as for the header of a safetensors file: a million tensors with long
    /// names take less.
    public static final long LARGEST = 100_000_000;

    /// Most indexes begin with their map, or with a few lines about the model.
    private static final int LOOKED_AT = 1 << 16;
    /// These lines may be all further names of tensors.
    private static final int MOST_LOOKED_AT = 1 << 22;

    /// Makes the maps read-only.
    public ShardIndex {
        shards = Collections.unmodifiableSequencedMap(shards);
        aliases = Collections.unmodifiableSequencedMap(aliases);
        metadata = Collections.unmodifiableSequencedMap(metadata);
    }

    /// Reads an index.
    ///
    /// @param file the file
    /// @return its contents
    /// @throws FormatException if it is malformed, too large, or names a shard by a path
    /// @throws IOException if reading fails
    public static ShardIndex read(MappedFile file) throws IOException {
        if (file.size() > LARGEST) {
            throw refused("the index has " + file.size() + " bytes and not up to " + LARGEST, 0);
        }
        ShardIndex index = new Reader(start(file, LARGEST)).index();
        if (index.shards.isEmpty()) {
            throw refused("the index names no tensors in a " + MAP, 0);
        }
        return index;
    }

    /// {@return the first shard that a file names, or nothing if it is no index} Reads only its start.
    ///
    /// @param file any file
    /// @throws IOException if reading fails
    static Optional<String> firstShard(MappedFile file) throws IOException {
        if (!file.startsWith(new byte[]{'{'})) {
            return Optional.empty();
        }
        Optional<String> first = firstShard(start(file, LOOKED_AT));
        return first.isPresent() || file.size() <= LOOKED_AT ? first : firstShard(start(file, MOST_LOOKED_AT));
    }

    private static Optional<String> firstShard(byte[] start) {
        Reader reader = new Reader(start);
        try {
            reader.index();
        } catch (FormatException _) {
            // It is incomplete, or no index.
        }
        return reader.shards.values().stream().findFirst();
    }

    /// {@return the index with some of its metadata read as further names of tensors}
    ///
    /// @param isAlias whether a key of the metadata and its value are that; the value has to be the name of a tensor
    public ShardIndex withAliases(BiPredicate<String, String> isAlias) {
        SequencedMap<String, String> further = new LinkedHashMap<>(aliases);
        SequencedMap<String, String> text = new LinkedHashMap<>();
        metadata.forEach((key, value) -> (isAlias.test(key, value) ? further : text).put(key, value));
        return new ShardIndex(shards, further, text);
    }

    /// {@return the options for opening its shards: a tensor that was selected by another name is selected in its
    /// shard, too}
    ///
    /// @param options the options for opening the set
    OpenOptions inShards(OpenOptions options) {
        if (!options.isPartial() || aliases.isEmpty()) {
            return options;
        }
        Set<String> stored = aliases.entrySet().stream()
                .filter(alias -> options.isChosen(StateIndex.escape(alias.getKey())))
                .map(alias -> StateIndex.escape(alias.getValue())).collect(Collectors.toSet());
        return options.only(name -> options.isChosen(name) || stored.contains(name));
    }

    static FormatException refused(String what, long offset) {
        return new FormatException("SHARD-INDEX", what, offset,
                "The index is incomplete or damaged; get it again from its source");
    }

    private static byte[] start(MappedFile file, long most) throws IOException {
        byte[] start = new byte[(int) Math.min(file.size(), most)];
        file.read(0, MemorySegment.ofArray(start));
        return start;
    }

    /// An index that is being read.
    private static final class Reader {
        private final JsonReader json;
        private final SequencedMap<String, String> shards = new LinkedHashMap<>();
        private final SequencedMap<String, String> metadata = new LinkedHashMap<>();
        /// Many tensors are in one shard.
        private final Map<String, String> known = new HashMap<>();

        Reader(byte[] text) {
            this.json = new JsonReader(text, 0);
        }

        ShardIndex index() {
            json.object(this::member);
            json.end();
            return new ShardIndex(shards, new LinkedHashMap<>(), metadata);
        }

        private void member(String member) {
            switch (member) {
                case MAP -> json.object(this::tensor);
                case METADATA -> {
                    if (!json.takeNull()) {
                        json.object(this::text);
                    }
                }
                default -> json.skip();
            }
        }

        private void tensor(String name) {
            String shard = known.computeIfAbsent(json.string(), Reader::normal);
            if (shards.putIfAbsent(name, shard) != null) {
                throw refused("the tensor " + FormatException.quote(name) + " is there twice", json.position());
            }
            if (!Draft.isPlainName(shard)) {
                throw refused("the shard " + FormatException.quote(shard) + " is no plain name of a file",
                        json.position());
            }
        }

        /// {@return a path without the parts `.` and `..` that can be left out}
        private static String normal(String path) {
            List<String> parts = new ArrayList<>();
            for (String part : path.split("/", -1)) {
                if (part.equals("..") && !parts.isEmpty() && Draft.isPlainName(parts.getLast())) {
                    parts.removeLast();
                } else if (!part.equals(".") || path.equals(".")) {
                    parts.add(part);
                }
            }
            return String.join("/", parts);
        }

        private void text(String key) {
            if (json.isString()) {
                metadata.put(key, json.string());
            } else if (json.isLiteral()) {
                metadata.put(key, json.literal());
            } else {
                json.skip();
            }
        }
    }
}
