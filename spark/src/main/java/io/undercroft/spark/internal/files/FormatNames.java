package io.undercroft.spark.internal.files;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/// What the name of a file says about its format.
public final class FormatNames {
    private static final Pattern SHARD = Pattern.compile("(.+)-(\\d{5})-of-(\\d{5})(\\.[^./]+)");
    private static final String FIRST = "00001";
    private static final String GGUF = ".gguf";

    private FormatNames() {}

    /// {@return whether the name is one of a known format}
    ///
    /// @param name the name of a file, without its directory
    public static boolean isKnown(String name) {
        return suffixOf(name).isPresent() || isShard(name);
    }

    /// {@return whether the name is that of an index of several files}
    ///
    /// @param name the name of a file, without its directory
    public static boolean isIndex(String name) {
        return Checkpoint.formats().stream()
                .filter(format -> format.capabilities().contains(Capability.SEVERAL_FILES))
                .anyMatch(format -> format.suffixes().stream().anyMatch(suffix -> matches(name, suffix)));
    }

    /// {@return the name without the suffix of its format; the whole name if it has no known suffix}
    ///
    /// @param name the name of a file, without its directory
    public static String stem(String name) {
        int length = suffixOf(name).map(String::length).orElse(0);
        if (length == 0 || length >= name.length()) {
            int dot = name.lastIndexOf('.');
            return dot > 0 ? name.substring(0, dot) : name;
        }
        return name.substring(0, name.length() - length);
    }

    /// {@return the name of the index that a shard belongs to, as model hubs name them: for
    /// `model-00001-of-00002.safetensors` that is `model.safetensors.index.json`; for a file of a split GGUF after the
    /// first it is the first}
    ///
    /// @param name the name of a file, without its directory
    public static Optional<String> indexOf(String name) {
        var shard = SHARD.matcher(name);
        if (!shard.matches() || (shard.group(4).equals(GGUF) && shard.group(2).equals(FIRST))) {
            return Optional.empty();
        }
        return Optional.of(shard.group(4).equals(GGUF)
                ? "%s-%s-of-%s%s".formatted(shard.group(1), FIRST, shard.group(3), GGUF)
                : shard.group(1) + shard.group(4) + ".index.json");
    }

    /// The files of a set of PyTorch are called `pytorch_model-00001-of-00002.bin`.
    private static boolean isShard(String name) {
        return indexOf(name).filter(FormatNames::isIndex).isPresent();
    }

    private static Optional<String> suffixOf(String name) {
        return Checkpoint.formats().stream().map(CheckpointFormat::suffixes).flatMap(List::stream)
                .filter(suffix -> matches(name, suffix)).max(Comparator.comparingInt(String::length));
    }

    private static boolean matches(String name, String suffix) {
        return suffix.startsWith(".")
                ? name.regionMatches(true, name.length() - suffix.length(), suffix, 0, suffix.length())
                : name.equals(suffix);
    }
}
