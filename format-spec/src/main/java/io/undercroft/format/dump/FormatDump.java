package io.undercroft.format.dump;

import io.undercroft.format.FormatException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/// Describes the bytes of files of one format. Implementations are found by [java.util.ServiceLoader]; [FileDump]
/// describes `.croft` files.
public interface FormatDump {
    /// A run of bytes with one meaning.
    ///
    /// @param offset the first byte in the file
    /// @param bytes the bytes
    /// @param name their name in the specification of the format
    /// @param meaning the value in words; may contain text from the file
    record Line(long offset, MemorySegment bytes, String name, String meaning) {}

    /// A part of the file, such as a record.
    ///
    /// @param section the section that it belongs to, one of [#sections]
    /// @param title a description; may contain text from the file
    /// @param offset the first byte in the file
    /// @param nbytes its size in bytes
    /// @param lines its bytes in their order; may be many, and made while they are iterated over
    /// @param omitted the number of further records of the section, which are left out
    /// @param fault what is wrong with it, or null
    record Part(String section, String title, long offset, long nbytes, Iterable<Line> lines, long omitted,
            @Nullable FormatException fault) {}

    /// {@return the name of the format}
    String format();

    /// {@return the names of sections}
    List<String> sections();

    /// {@return whether a file starts as files of the format do}
    ///
    /// @param file all of its bytes
    boolean matches(MemorySegment file);

    /// Describes a file; a damaged one as far as its parts can be found.
    ///
    /// @param file all of its bytes
    /// @param sections the [sections][#sections] to describe
    /// @param limit the maximum number of records of each section
    /// @param parts receives the parts
    /// @return what is wrong with the file, if it is damaged
    Optional<FormatException> describe(MemorySegment file, Predicate<String> sections, long limit,
            Consumer<Part> parts);
}
