package io.undercroft.interop.torch7;

import io.undercroft.format.FormatException;
import io.undercroft.interop.internal.ByteReader;
import io.undercroft.interop.internal.StorageFilter;
import io.undercroft.interop.torch7.LuaReader.Numbering;
import io.undercroft.interop.torch7.LuaReader.References;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import java.io.IOException;
import java.io.Serial;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/// Measures how much of a file can be read in one encoding. Only the first objects of a large file are tried,
/// and no elements that can be skipped.
///
/// @param encoding the encoding
/// @param isIntact whether it consists of objects and nothing else, as far as it was tried
/// @param reached where it was found not to be
/// @param isTypical whether the objects are tables or objects of classes, laid out as Torch7 does
/// @param hasSignature whether something was read that no other file has by chance
record EncodingProbe(Encoding encoding, boolean isIntact, long reached, boolean isTypical, boolean hasSignature) {
    private static final long BUDGET = 1 << 18;

    /// More was to be read than is tried. No fault of the file.
    private static final class BudgetSpent extends RuntimeException {
        @Serial
        private static final long serialVersionUID = 1;

        BudgetSpent() {
            super("more was to be read than is tried", null, false, false);
        }
    }

    /// Counts what is read; elements that are skipped do not count.
    private static final class Budget implements ByteReader.Limits {
        private long left = BUDGET;

        @Override
        public RuntimeException tooShort(long due, long position, long remaining) {
            return Torch7Faults.tooShort(due, position, remaining);
        }

        @Override
        public void reading(long count) {
            left -= count;
            if (left < 0) {
                throw new BudgetSpent();
            }
        }
    }

    /// {@return the likeliest of some encodings} Where several are as likely the first one is: files without tensors
    /// are the same with longs of either width.
    ///
    /// A damaged file with a tensor is treated as one with longs of 8 bytes, which is refused; another width might be
    /// accepted by mistake.
    ///
    /// @param encodings those that are in question
    static EncodingProbe likeliest(MappedFile file, List<Encoding> encodings, References references)
            throws IOException {
        List<EncodingProbe> probes = new ArrayList<>();
        for (Encoding encoding : encodings) {
            EncodingProbe probe = of(file, encoding, references);
            if (probe.isIntact) {
                return probe;
            }
            probes.add(probe);
        }
        return Collections.max(probes, Comparator.comparingLong(EncodingProbe::evidence));
    }

    private long evidence() {
        return hasSignature ? Long.MAX_VALUE : reached;
    }

    private static EncodingProbe of(MappedFile file, Encoding encoding, References references) throws IOException {
        EncodingProbe continued = of(file, encoding, references, Numbering.CONTINUED);
        if (continued.isIntact || !continued.hasSignature) {
            return continued;
        }
        EncodingProbe restarted = of(file, encoding, references, Numbering.RESTARTED);
        return restarted.isIntact ? restarted : continued;
    }

    private static EncodingProbe of(MappedFile file, Encoding encoding, References references, Numbering numbering)
            throws IOException {
        Torch7Storages nowhere = new Torch7Storages(file, OpenOptions.defaults().onMeta(), StorageFilter.all());
        Input input = Input.of(encoding, file, new Budget());
        LuaReader objects = new LuaReader(input, nowhere, references, numbering);
        boolean isIntact = false;
        boolean isStructured = true;
        boolean areContainers = true;
        long count = 0;
        long reached = 0;
        try {
            do {
                boolean isNil = objects.read() == null;
                reached = input.position();
                areContainers &= objects.isContainer();
                // Zeros are read as nil, and follow where numbers were read as shorter than they are.
                isIntact = count++ == 0 || !isNil;
            } while (isIntact && !input.isAtEnd());
        } catch (BudgetSpent _) {
            isIntact = true;
            // One long string is no sign of anything, nor is a long column of numbers.
            isStructured = input.position() > BUDGET / 4 && (encoding != Encoding.ASCII || objects.hasStrings());
            areContainers &= objects.isContainer();
        } catch (FormatException e) {
            isIntact = false;
            reached = e.offset();
        }
        // A column of numbers is a sequence of small objects.
        boolean isDistinct = count <= 1 || encoding != Encoding.ASCII || objects.hasStrings();
        return new EncodingProbe(encoding, isIntact, reached,
                areContainers && isStructured && isDistinct && input.isTidy(),
                objects.hasSignature());
    }

    /// {@return whether the file is likely to be one of Torch7 at all} A lone number or string could be anything.
    boolean isConvincing() {
        return hasSignature || (isIntact && isTypical);
    }
}
