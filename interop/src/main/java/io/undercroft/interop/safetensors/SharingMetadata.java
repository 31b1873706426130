package io.undercroft.interop.safetensors;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.JsonReader;
import io.undercroft.storage.Shape;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/// The metadata of a file about tensors that share storages.
///
/// @param aliases further names of tensors, each with the name that the tensor has in the file
/// @param views tensors that use the storage of another
/// @param metadata the rest of the metadata, which is plain text
record SharingMetadata(SequencedMap<String, String> aliases, SequencedMap<String, View> views,
        SequencedMap<String, String> metadata) {
    /// The metadata that describes views.
    static final String VIEWS = "undercroft.views";
    /// Plain text in most files, and never the name of a tensor: `pt`, `tf`, `flax`.
    static final String FORMAT = "format";

    /// The view that a tensor is of the storage of another one.
    ///
    /// @param base the name of the other
    /// @param offset where its first element starts, in bytes from the first byte of the other
    /// @param stride its strides, in elements
    record View(String base, long offset, List<Long> stride) {
        long[] strides() {
            return stride.stream().mapToLong(Long::longValue).toArray();
        }
    }

    /// {@return no sharing: all metadata is text}
    static SharingMetadata none(SequencedMap<String, String> metadata) {
        return new SharingMetadata(new LinkedHashMap<>(), new LinkedHashMap<>(), metadata);
    }

    /// Reads the metadata of a file.
    ///
    /// @param header the header of the file
    /// @return the sharing
    static SharingMetadata of(SafetensorsHeader header) {
        SharingMetadata sharing = none(new LinkedHashMap<>());
        for (Map.Entry<String, String> each : header.metadata().entrySet()) {
            String key = each.getKey();
            String value = each.getValue();
            if (key.equals(VIEWS)) {
                sharing.views.putAll(new Reader(value, header.entries()).views());
            } else if (isAlias(key, value, header.entries())) {
                sharing.aliases.put(key, value);
            } else {
                sharing.metadata.put(key, value);
            }
        }
        return sharing;
    }

    /// {@return whether metadata gives a tensor another name, and is not just text}
    ///
    /// @param key its key
    /// @param value its value
    /// @param tensors the tensors of the file by name
    static boolean isAlias(String key, String value, Map<String, ?> tensors) {
        return tensors.containsKey(value) && !tensors.containsKey(key) && !key.equals(FORMAT);
    }

    /// {@return the name of the tensor in the file whose bytes a tensor uses}
    ///
    /// @param name the name of a tensor, or a further one
    String baseOf(String name) {
        String stored = aliases.getOrDefault(name, name);
        View view = views.get(stored);
        return view == null ? stored : view.base();
    }

    /// Views that are being read.
    private static final class Reader {
        private final JsonReader json;
        private final Map<String, TensorEntry> entries;
        private final SequencedMap<String, View> views = new LinkedHashMap<>();
        private @Nullable String base;
        private long offset;
        private long @Nullable [] stride;

        Reader(String text, Map<String, TensorEntry> entries) {
            this.json = new JsonReader(text.getBytes(UTF_8), 0);
            this.entries = entries;
        }

        SequencedMap<String, View> views() {
            try {
                json.object(this::view);
                json.end();
            } catch (FormatException e) {
                throw e.code().equals("JSON") ? refused(e.what()) : e;
            }
            views.forEach((name, view) -> {
                if (views.containsKey(view.base())) {
                    throw refused(FormatException.quote(name) + " is a view of a view");
                }
            });
            return views;
        }

        private void view(String name) {
            base = null;
            offset = -1;
            stride = null;
            json.object(this::field);
            TensorEntry entry = entries.get(name);
            if (entry == null || base == null || !entries.containsKey(base) || stride == null || offset < 0) {
                throw refused(FormatException.quote(name) + " is not described as a tensor on another one");
            }
            if (!entry.dtype().isByteSized() || offset % entry.dtype().itemsize() != 0) {
                throw refused(FormatException.quote(name) + " starts within an element");
            }
            if (views.put(name, new View(base, offset, Arrays.stream(stride).boxed().toList())) != null) {
                throw refused(FormatException.quote(name) + " is there twice");
            }
        }

        private void field(String field) {
            switch (field) {
                case "base" -> base = json.string();
                case "offset" -> offset = json.natural();
                case "stride" -> stride = json.naturals(Shape.MAX_RANK);
                default -> json.skip();
            }
        }

        private static FormatException refused(String what) {
            return new FormatException("SAFETENSORS-VIEWS", "in the metadata " + VIEWS + ", " + what,
                    FormatException.NO_OFFSET, "Open it with the setting safetensors.sharing=ignore");
        }
    }
}
