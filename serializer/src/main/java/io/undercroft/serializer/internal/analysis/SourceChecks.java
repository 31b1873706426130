package io.undercroft.serializer.internal.analysis;

import io.undercroft.format.FormatException;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.spi.CheckpointFormat.Capability;
import java.util.List;
import java.util.Set;

/// What the command and the jobs ask about a file before they save its state elsewhere, and about a fault of it.
public final class SourceChecks {
    /// The codes of [FormatException#code] if the file may be intact, but it or a tensor of it is of no format, version
    /// or type that is known, costs too much to read, or needs another file that is missing.
    private static final Set<String> UNREADABLE = Set.of("FORMAT-UNKNOWN", "V12-SIGNATURE", "CROFT-SALVAGE",
            "V8-LIMIT", "V9-RESERVED", "V13-UNSUPPORTED",
            "V18-BASE", "V21-SHARD", "SHARD-INDEX", "COST-WORK", "COST-MEMORY", "CROFT-PUBLISHED", "CROFT-DEVICE",
            "READ-ERROR",
            "GGUF-VERSION", "GGUF-TYPE", "NPY-VERSION", "NPY-DTYPE", "SAFETENSORS-DTYPE", "TORCH-VERSION",
            "TORCH-UNSUPPORTED", "STATE-LIMIT", "TORCH-DEPTH", "TORCH7-DEPTH", "ZIP-ENCRYPTED", "ZIP-METHOD");

    private SourceChecks() {}

    /// {@return whether a code means that a file, or a part of it, may be intact and cannot be read}
    ///
    /// @param code that of a [FormatException] or of damage
    public static boolean isUnreadable(String code) {
        return UNREADABLE.contains(code);
    }

    /// {@return whether the bytes of storages have checksums in the format of a file, so that they are checked when
    /// they are read}
    ///
    /// @param checkpoint the open file
    public static boolean hasChecksums(Checkpoint checkpoint) {
        return Checkpoint.formats().stream().filter(format -> format.name().equals(checkpoint.format()))
                .anyMatch(format -> format.capabilities().contains(Capability.CHECKSUMS));
    }

    /// {@return the names of classes and functions with which a file could run code in a program that loads it}
    ///
    /// @param checkpoint the open file
    public static List<String> dangerousNames(Checkpoint checkpoint) {
        return checkpoint.foreignClasses().stream().filter(ForeignClass::isDangerous).map(ForeignClass::name).toList();
    }
}
