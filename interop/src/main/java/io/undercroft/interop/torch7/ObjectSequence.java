package io.undercroft.interop.torch7;

import io.undercroft.interop.torch7.LuaReader.References;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// The objects of a file, one after the other. Belongs to one thread.
final class ObjectSequence {
    /// Which numbers the objects of a file have.
    enum Numbering {
        /// Each has a separate numbering, but may refer to those before it: they were written through one open
        /// file.
        CONTINUED,
        /// The numbers of each begin again: the file was put together of several, or was opened again for each.
        RESTARTED
    }

    private final Input in;
    private final Torch7Storages storages;
    private final References references;
    private final Numbering numbering;
    private final ReadBudget budget;
    private LuaReader reader;
    private boolean hasSignature;
    private boolean hasStrings;

    ObjectSequence(Input in, Torch7Storages storages, References references, Numbering numbering) {
        this.in = in;
        this.storages = storages;
        this.references = references;
        this.numbering = numbering;
        this.budget = ReadBudget.of(in.position() + in.remaining());
        this.reader = new LuaReader(in, storages, references, budget);
    }

    /// {@return what reading the file may cost}
    ReadBudget budget() {
        return budget;
    }

    /// {@return the next object, as it is in the state}
    ///
    /// @throws io.undercroft.format.FormatException if it is damaged, or encoded in another way
    @Nullable
    Object next() throws IOException {
        if (numbering == Numbering.RESTARTED) {
            hasSignature |= reader.hasSignature();
            hasStrings |= reader.hasStrings();
            reader = new LuaReader(in, storages, references, budget);
        }
        return reader.read();
    }

    boolean isAtEnd() throws IOException {
        return in.isAtEnd();
    }

    long position() {
        return in.position();
    }

    /// {@return whether the last object was found to be a table or an object of a class}
    boolean isContainer() {
        return reader.isContainer();
    }

    /// {@return whether something was read that no other file has by chance}
    boolean hasSignature() {
        return hasSignature || reader.hasSignature();
    }

    /// {@return whether a string was read}
    boolean hasStrings() {
        return hasStrings || reader.hasStrings();
    }

    /// {@return the class of the object that ends here, if there is one}
    Optional<String> classThatEndsHere() {
        return reader.classThatEndsHere();
    }
}
