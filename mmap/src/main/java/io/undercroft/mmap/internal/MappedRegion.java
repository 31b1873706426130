package io.undercroft.mmap.internal;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// A part of a segment that a file backs, as Linux lists it in `/proc/self/maps`. Used in messages only: reading that
/// file is slow, and other systems have none.
///
/// @param file its path; that of one that has none any more ends in ` (deleted)`
/// @param fileStart the offset of the part in the file, in bytes
/// @param fileEnd the offset of the end in the file
public record MappedRegion(String file, long fileStart, long fileEnd) {
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final Pattern LINE = Pattern
            .compile("(\\p{XDigit}+)-(\\p{XDigit}+) \\S+ (\\p{XDigit}+) \\S+ \\d+ +(/.*)");

    /// {@return the parts in order; none if nothing is known}
    ///
    /// @param segment the segment
    public static List<MappedRegion> under(MemorySegment segment) {
        long start = segment.address();
        long end = start + segment.byteSize();
        try (Stream<String> lines = Files.lines(MAPS)) {
            return lines.map(LINE::matcher).filter(Matcher::matches).map(line -> overlap(line, start, end))
                    .flatMap(Optional::stream).toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    /// {@return the size of the file now, in bytes, or -1 if that is not known}
    public long fileSize() {
        try {
            return Files.size(Path.of(file));
        } catch (IOException | InvalidPathException e) {
            return -1;
        }
    }

    private static Optional<MappedRegion> overlap(Matcher line, long start, long end) {
        long from = Long.parseUnsignedLong(line.group(1), 16);
        long first = Math.max(from, start);
        long last = Math.min(Long.parseUnsignedLong(line.group(2), 16), end);
        long shift = Long.parseUnsignedLong(line.group(3), 16) - from;
        return first < last
                ? Optional.of(new MappedRegion(line.group(4), first + shift, last + shift))
                : Optional.empty();
    }
}
