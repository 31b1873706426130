package io.undercroft.serializer.internal;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/// The suffixes of the formats of this project other than `.croft`. They are known also where the module with these
/// formats is missing, so that a `.croft` file never gets such a name.
public final class KnownSuffixes {
    private static final Map<String, List<String>> BY_FORMAT = Map.of(
            "torch-zip", List.of(".pt", ".pth", ".ckpt", "pytorch_model.bin"),
            "torch-index", List.of(".bin.index.json"),
            "safetensors", List.of(".safetensors"),
            "safetensors-index", List.of(".safetensors.index.json"),
            "npz", List.of(".npz"),
            "npy", List.of(".npy"),
            "gguf", List.of(".gguf"),
            "onnx", List.of(".onnx"),
            "torch7", List.of(".t7"),
            "pickle", List.of(".pkl", ".pickle"));

    private KnownSuffixes() {}

    /// {@return the suffixes of a format; empty if it is not one of this project}
    ///
    /// @param format the name of the format
    public static List<String> of(String format) {
        return BY_FORMAT.getOrDefault(format, List.of());
    }

    /// {@return the suffixes of all formats}
    public static List<String> all() {
        return BY_FORMAT.values().stream().flatMap(List::stream).sorted().toList();
    }

    /// {@return the name of a format of which a suffix fits}
    ///
    /// @param fits whether a file is called so
    public static Optional<String> format(Predicate<String> fits) {
        return BY_FORMAT.keySet().stream().filter(format -> of(format).stream().anyMatch(fits)).findFirst();
    }
}
