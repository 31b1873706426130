package io.undercroft.format.dump;

import io.undercroft.format.FormatException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// A description of the bytes of files of a format. Implementations are loaded by [java.util.ServiceLoader]; [FileDump]
/// describes `.croft` files, which have snapshots.
public interface FormatDump {
    /// A field of a file.
    ///
    /// @param offset the offset of the first byte in the file
    /// @param bytes the bytes
    /// @param name their name in the specification of the format
    /// @param meaning the value in words; may contain text from the file
    record Line(long offset, MemorySegment bytes, String name, String meaning) {}

    /// A part of the file, such as a record.
    ///
    /// @param section the section that it belongs to, one of [#sections]
    /// @param title a description; may contain text from the file
    /// @param offset the offset of the first byte in the file
    /// @param nbytes its size in bytes
    /// @param lines the fields in the order of the file, which may be created lazily
    /// @param omitted the number of further records of the section, which are omitted
    /// @param fault the fault of the part, or null
    record Part(String section, String title, long offset, long nbytes, Iterable<Line> lines, long omitted,
            @Nullable FormatException fault) {}

    /// {@return the name of the format}
    String format();

    /// {@return the names of sections}
    List<String> sections();

    /// {@return whether a file has the format, by its first bytes}
    ///
    /// @param file all of its bytes
    boolean matches(MemorySegment file);

    /// Describes a file. A damaged file is described as far as its parts can be found.
    ///
    /// @param file all of its bytes
    /// @param sections the [sections][#sections] to describe
    /// @param limit the maximum number of records of each section
    /// @param parts the consumer of the parts
    /// @return the fault of the file, if it is damaged
    Optional<FormatException> describe(MemorySegment file, Predicate<String> sections, long limit,
            Consumer<Part> parts);
}
