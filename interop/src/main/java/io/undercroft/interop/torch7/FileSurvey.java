package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.torch7.LuaReader.Numbering;
import io.undercroft.interop.torch7.LuaReader.References;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.UnreadPart;
import io.undercroft.serializer.UnreadPart.Kind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The offsets of the objects of a file, and the parts of the file that are no object.
///
/// @param numbering which numbers the objects have
/// @param ends where each object ends, in bytes; `nil` at the end of a file is no object, as zeros are read as that
/// @param lastClass the class of the object that ends where the last one ends
/// @param fault why nothing more was read, or null if the rest of the file are zeros, or nothing
/// @param size the size of the file in bytes
record FileSurvey(Numbering numbering, List<Long> ends, Optional<String> lastClass, @Nullable FormatException fault,
        long size) {
    /// Reads all objects of a file, but no elements that can be skipped.
    static FileSurvey of(MappedFile file, Encoding encoding, References references) throws IOException {
        FileSurvey continued = of(file, encoding, references, Numbering.CONTINUED);
        if (continued.isWhole()) {
            return continued;
        }
        FileSurvey restarted = of(file, encoding, references, Numbering.RESTARTED);
        return restarted.end() > continued.end() ? restarted : continued;
    }

    private static FileSurvey of(MappedFile file, Encoding encoding, References references, Numbering numbering)
            throws IOException {
        Torch7Storages nowhere = new Torch7Storages(file, OpenOptions.defaults().onMeta(), StorageFilter.all());
        Input in = Input.of(encoding, file);
        LuaReader objects = new LuaReader(in, nowhere, references, numbering);
        List<Long> ends = new ArrayList<>();
        Optional<String> lastClass = Optional.empty();
        List<Long> empty = new ArrayList<>();
        FormatException fault = null;
        try {
            do {
                boolean isNil = objects.read() == null;
                empty.add(in.position());
                if (!isNil || ends.isEmpty()) {
                    ends.addAll(empty);
                    empty.clear();
                    lastClass = objects.classThatEndsHere();
                }
            } while (!in.isAtEnd());
        } catch (FormatException e) {
            fault = e;
        }
        if (fault == null && empty.isEmpty()) {
            // White space behind the last object of a text belongs to it.
            ends.set(ends.size() - 1, file.size());
        }
        return new FileSurvey(numbering, ends, lastClass, fault, file.size());
    }

    private long end() {
        return ends.isEmpty() ? 0 : ends.getLast();
    }

    private boolean isWhole() {
        return end() == size;
    }

    /// Checks that there is an object, and that what follows the objects cannot belong to it.
    ///
    /// @param number the number of an object, from 1 on
    /// @param isAskedFor whether it was set; what follows the last object does not matter then
    void check(long number, boolean isAskedFor) {
        if (number > ends.size()) {
            throw number == ends.size() + 1 && fault != null
                    ? fault
                    : new FormatException("TORCH7-OBJECT", "the file has "
                            + (ends.size() == 1 ? "1 object" : ends.size() + " objects") + ", and object " + number
                            + " is asked for", end(), "Set " + Torch7Format.OBJECT + " to one of these");
        }
        if (!isWhole() && lastClass.isPresent() && !isAskedFor) {
            FormatException refusal = Torch7Faults.ofOwnWay(lastClass.get(),
                    "is followed by " + (size - end()) + " bytes that are no object", end());
            throw new FormatException(refusal.code(), refusal.what(), refusal.offset(), refusal.remedy()
                    .and("; or set " + Torch7Format.OBJECT + " to 1 to ignore what follows"));
        }
    }

    /// {@return what the state does not contain}
    ///
    /// @param number the number of the object that is the state
    List<UnreadPart> besides(int number) {
        List<UnreadPart> parts = new ArrayList<>();
        if (ends.size() > 1) {
            long from = number == 1 ? 0 : ends.get(number - 2);
            long nbytes = end() - (ends.get(number - 1) - from);
            parts.add(new UnreadPart(Kind.STATE,
                    String.format(Locale.ROOT, "%s of %,d (object %,d was opened)",
                            ends.size() == 2 ? "1 object" : String.format(Locale.ROOT, "%,d objects", ends.size() - 1),
                            ends.size(),
                            number),
                    number == 1 ? ends.getFirst() : 0, nbytes, Torch7Format.OBJECT));
        }
        if (!isWhole()) {
            parts.add(new UnreadPart(Kind.BYTES, fault == null ? "zeros" : "no object of Torch7 (" + fault.what() + ")",
                    end(), size - end(), Torch7Format.OBJECT));
        }
        return parts;
    }
}
