package io.undercroft.interop.internal;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/// Parts of a container that a state does not refer to, combined into one [UnreadPart]. For use by one thread.
public final class UnreadParts {
    private static final int SHOWN = 3;
    private static final int BUFFER = 1 << 16;

    private final String noun;
    private final List<String> names = new ArrayList<>();
    private int count;
    private long offset = Long.MAX_VALUE;
    private long nbytes;

    /// @param noun the noun for the parts, in the singular and with an `s` in the plural
    public UnreadParts(String noun) {
        this.noun = noun;
    }

    /// Adds a part.
    ///
    /// @param name its name
    /// @param start the offset of its bytes in the file
    /// @param size the number of these bytes
    public void add(String name, long start, long size) {
        if (count++ < SHOWN) {
            names.add(name);
        }
        offset = Math.min(offset, start);
        nbytes += size;
    }

    /// {@return all parts that were added, as one, or nothing if there are none}
    public Optional<UnreadPart> part() {
        if (count == 0) {
            return Optional.empty();
        }
        String shown = names.stream().map(FormatException::quote).collect(Collectors.joining(", "));
        String more = count == names.size() ? "" : String.format(Locale.ROOT, " and %,d more", count - names.size());
        return Optional.of(new UnreadPart(Kind.RECORD, String.format(Locale.ROOT,
                "%,d %s%s that the state does not refer to: %s%s", count, noun, count == 1 ? "" : "s", shown, more),
                offset, nbytes));
    }

    /// {@return the rest of a file as a part, from its first byte on that is no zero, or nothing if it has only zeros}
    ///
    /// @param what a description for people
    /// @param file the file
    /// @param start the start of the rest
    /// @throws IOException if reading fails
    public static Optional<UnreadPart> behind(String what, MappedFile file, long start) throws IOException {
        byte[] bytes = new byte[Math.clamp(file.size() - start, 0, BUFFER)];
        for (long at = start; at < file.size(); at += bytes.length) {
            int length = (int) Math.min(bytes.length, file.size() - at);
            file.read(at, MemorySegment.ofArray(bytes).asSlice(0, length));
            for (int i = 0; i < length; i++) {
                if (bytes[i] != 0) {
                    return Optional.of(new UnreadPart(Kind.BYTES, what, at + i, file.size() - at - i));
                }
            }
        }
        return Optional.empty();
    }
}
