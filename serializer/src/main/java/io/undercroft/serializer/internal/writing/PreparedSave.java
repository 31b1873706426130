package io.undercroft.serializer.internal.writing;

import io.undercroft.mmap.MappingException;
import io.undercroft.serializer.SaveReport;
import io.undercroft.serializer.internal.disk.Target;
import io.undercroft.serializer.internal.planning.ResourceStack;
import io.undercroft.serializer.internal.planning.SaveControl;
import io.undercroft.serializer.spi.StoreTarget;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/// A save that is ready to run: it has the lock if the file is one of this host, the open file, and the memory of a
/// snapshot if one was taken. It is prepared by one thread and may be run by another one.
public final class PreparedSave implements Closeable {
    private final String location;
    private final @Nullable Path path;
    private final ResourceStack resources;
    private final SaveControl control;
    private final Target.Work<SaveReport> saving;

    private PreparedSave(String location, @Nullable Path path, ResourceStack resources, SaveControl control,
            Target.Work<SaveReport> saving) {
        this.location = location;
        this.path = path;
        this.resources = resources;
        this.control = control;
        this.saving = saving;
    }

    /// Takes what a save needs.
    @FunctionalInterface
    interface Preparation {
        /// Takes what a save needs.
        ///
        /// @param resources receives what is to be closed in the end, also if this fails
        /// @param control the control of the save
        /// @return the prepared save
        Target.Work<SaveReport> prepare(ResourceStack resources, SaveControl control) throws IOException;
    }

    static PreparedSave of(Target target, Preparation preparation) throws IOException {
        return of(target.path().toString(), target.path(), preparation);
    }

    /// Prepares a save to a store.
    static PreparedSave of(StoreTarget target, Preparation preparation) throws IOException {
        return of(target.location(), null, preparation);
    }

    private static PreparedSave of(String location, @Nullable Path path, Preparation preparation) throws IOException {
        return Target.write(location, () -> {
            ResourceStack resources = new ResourceStack();
            SaveControl control = new SaveControl();
            try {
                return new PreparedSave(location, path, resources, control, preparation.prepare(resources, control));
            } catch (Throwable e) {
                resources.closeAfter(e);
                throw e;
            }
        });
    }

    /// {@return the file, as the caller named it, or nothing if it is in a store}
    public Optional<Path> path() {
        return Optional.ofNullable(path);
    }

    /// {@return the name of the file, for messages}
    public String location() {
        return location;
    }

    /// {@return the control of the save}
    public SaveControl control() {
        return control;
    }

    /// Saves. Afterwards this is closed, however that ends.
    ///
    /// @return the report of the save
    /// @throws IOException if writing fails; the file is as it was
    /// @throws java.util.concurrent.CancellationException if it was cancelled in time
    public SaveReport run() throws IOException {
        try (resources) {
            return Target.write(location, saving);
        } catch (MappingException e) {
            // For a storage that is first mapped when it is saved; for others reading fails.
            throw new IOException(e.getMessage(), e);
        }
    }

    /// Releases everything. The second and later calls do nothing.
    @Override
    public void close() throws IOException {
        resources.close();
    }
}
