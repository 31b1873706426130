package io.undercroft.serializer.internal.writing;

import io.undercroft.serializer.DedupReport;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/// A snapshot of a state that is taken and not saved yet, with all that saving it needs: the lock, the open file, the
/// memory. It is taken by one thread and saved by another one.
public final class TakenSnapshot implements Closeable {
    private final Path path;
    private final Held held;
    private final SaveControl control;
    private final CroftWriter.Work<DedupReport> saving;

    private TakenSnapshot(Path path, Held held, SaveControl control, CroftWriter.Work<DedupReport> saving) {
        this.path = path;
        this.held = held;
        this.control = control;
        this.saving = saving;
    }

    /// Takes what is needed.
    @FunctionalInterface
    interface Taking {
        /// Takes what is needed.
        ///
        /// @param held gets what is to be closed in the end, also if this fails
        /// @param control what is said of the save
        /// @return what is left to do
        CroftWriter.Work<DedupReport> take(Held held, SaveControl control) throws IOException;
    }

    static TakenSnapshot take(Path path, Taking taking) throws IOException {
        Held held = new Held();
        SaveControl control = new SaveControl();
        try {
            return new TakenSnapshot(path, held, control, taking.take(held, control));
        } catch (Throwable e) {
            held.closeAfter(e);
            throw e;
        }
    }

    /// {@return the file}
    public Path path() {
        return path;
    }

    /// {@return what may be known of the save, and done to it}
    public SaveControl control() {
        return control;
    }

    /// Saves it. Afterwards it is closed, however that ends.
    ///
    /// @return what became of the bytes
    /// @throws IOException if writing fails; the file is as it was
    /// @throws java.util.concurrent.CancellationException if it was cancelled in time
    public DedupReport save() throws IOException {
        try (held) {
            return CroftWriter.guarded(path, saving);
        }
    }

    /// Gives everything back. The second and later calls do nothing.
    @Override
    public void close() throws IOException {
        held.close();
    }
}
