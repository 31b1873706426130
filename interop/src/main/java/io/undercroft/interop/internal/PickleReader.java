package io.undercroft.interop.internal;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/// Reads the pickles in files of other formats. The format of pickles provides it, so that no format depends on
/// another one's package. Safe for any thread.
public abstract class PickleReader {
    private static final String PROVIDER = "io.undercroft.interop.torch.PickleFormat";
    private static volatile @Nullable PickleReader provided;

    /// Only the format of pickles has one.
    protected PickleReader() {}

    /// {@return the reader}
    public static PickleReader get() {
        PickleReader reader = provided;
        if (reader == null) {
            try {
                Class.forName(PROVIDER);
            } catch (ClassNotFoundException e) {
                throw new AssertionError("the format of pickles is in this module", e);
            }
            reader = provided;
        }
        if (reader == null) {
            throw new AssertionError("the format of pickles provides its reader when it is loaded");
        }
        return reader;
    }

    /// Sets the reader.
    ///
    /// @param reader the reader
    protected static void provide(PickleReader reader) {
        provided = reader;
    }

    /// {@return what reads the pickles in a file}
    ///
    /// @param file the file
    /// @param options how it is opened
    /// @param budget what reading all of them may cost
    public abstract Pickles in(MappedFile file, OpenOptions options, ReadBudget budget);

    /// The pickles in a file. For use by one thread.
    public interface Pickles {
        /// {@return what a pickle builds that the file has as it is}
        ///
        /// @param start where it starts
        /// @param end where the part of the file ends that it is in
        /// @throws IOException if reading fails
        @Nullable
        Object read(long start, long end) throws IOException;

        /// {@return what a pickle builds that is compressed in the file}
        ///
        /// @param pickle the pickle
        /// @throws IOException if reading fails
        @Nullable
        Object read(MemorySegment pickle) throws IOException;

        /// {@return the classes that all pickles name and that are unknown here}
        List<ForeignClass> classes();
    }
}
