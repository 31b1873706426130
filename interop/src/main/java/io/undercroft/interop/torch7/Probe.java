package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.interop.torch7.LuaReader.References;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/// How far a file can be read if it is taken to be of one encoding. Of a large file only the first objects are tried, and no elements that
/// can be skipped.
///
/// @param encoding the encoding
/// @param isSound whether it is one object and nothing else, as far as it was tried
/// @param reached where it was found not to be
/// @param isTypical whether the first object is a table or an object, and stands there as Torch7 sets it
/// @param hasSignature whether something was met that no other file has by chance
record Probe(Encoding encoding, boolean isSound, long reached, boolean isTypical, boolean hasSignature) {
    private static final long BUDGET = 1 << 18;

    /// {@return the likeliest of some encodings} Where several are as likely the first one is: files without tensors are the same with
    /// longs of either width.
    ///
    /// A damaged file with a tensor is taken for one with longs of 8 bytes: that is refused, where a lie about the width might be believed.
    ///
    /// @param encodings those that are in question
    static Probe likeliest(MappedFile file, List<Encoding> encodings, References references) throws IOException {
        List<Probe> probes = new ArrayList<>();
        for (Encoding encoding : encodings) {
            Probe probe = of(file, encoding, references);
            if (probe.isSound) {
                return probe;
            }
            probes.add(probe);
        }
        return Collections.max(probes, Comparator.comparingLong(Probe::evidence));
    }

    private long evidence() {
        return hasSignature ? Long.MAX_VALUE : reached;
    }

    private static Probe of(MappedFile file, Encoding encoding, References references) throws IOException {
        FileBytes bytes = new FileBytes(file, 0, BUDGET);
        StorageTable nowhere = new StorageTable(file, OpenOptions.defaults().onMeta(), _ -> false);
        Input input = Input.of(encoding, bytes);
        LuaReader reader = new LuaReader(input, nowhere, references);
        boolean isSound = false;
        boolean isStructured = true;
        long reached = 0;
        try {
            reader.read();
            reached = bytes.position();
            isSound = bytes.remaining() == 0;
        } catch (FileBytes.BudgetSpent _) {
            isSound = true;
            // One long string is no sign of anything, nor is a long column of numbers.
            isStructured = bytes.position() > BUDGET / 4 && (encoding != Encoding.ASCII || reader.hasStrings());
        } catch (FormatException e) {
            reached = e.offset();
        }
        boolean isTypical = reader.isContainer() && isStructured && input.isTidy();
        return new Probe(encoding, isSound, reached, isTypical, reader.hasSignature());
    }

    /// {@return whether the file is likely to be one of Torch7 at all} A lone number or string could be anything.
    boolean isConvincing() {
        return hasSignature || (isSound && isTypical);
    }
}
