package io.undercroft.interop.internal;

import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.ForeignClass;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.ReadBudget;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// Reads the pickles in files of other formats. The format of pickles provides it, so that no format depends on
/// another one's package. Safe for any thread.
public final class PickleReader {
    private static final String PROVIDER = "io.undercroft.interop.torch.PickleFormat";
    private static volatile @Nullable Provider provider;

    private PickleReader() {}

    /// Opens the pickles of a file.
    @FunctionalInterface
    public interface Provider {
        /// {@return the reader of the pickles in a file, as [PickleReader#in] returns it}
        Pickles in(MappedFile file, OpenOptions options, ReadBudget budget);
    }

    /// Sets the provider.
    ///
    /// @param pickles opens the pickles of a file
    public static void provide(Provider pickles) {
        provider = pickles;
    }

    /// {@return the reader of the pickles in a file}
    ///
    /// @param file the file
    /// @param options the options for opening it
    /// @param budget the limit for reading all of them
    public static Pickles in(MappedFile file, OpenOptions options, ReadBudget budget) {
        try {
            if (provider == null) {
                Class.forName(PROVIDER);
            }
            return Objects.requireNonNull(provider).in(file, options, budget);
        } catch (ClassNotFoundException e) {
            throw new AssertionError("the format of pickles is in this module", e);
        }
    }

    /// The pickles in a file. For use by one thread.
    public interface Pickles {
        /// {@return the result of a pickle that is stored uncompressed}
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
