package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.internal.CroftWriter;
import io.undercroft.serializer.internal.Formats;
import io.undercroft.serializer.spi.Contents;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SequencedCollection;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/// A saved state, opened: tensors by name and the tree they stand in, of a file of any known format.
///
/// ```java
/// try (Checkpoint c = Checkpoint.open(Path.of("model.pt"))) {
///     Tensor embed = c.tensor("transformer.wte.weight");
///     Tensor head = c.tensor("lm_head.weight");
///     assert embed.storage() == head.storage();
/// }
/// Checkpoint.save(Path.of("model.croft"), Map.of("weight", Tensor.zeros(DType.FLOAT32, 2, 3)));
/// ```
///
/// **Laziness.** Opening reads what describes the tensors, not their elements; a storage is mapped when it is first touched.
/// Of a `.croft` file it reads less: what describes a tensor is looked at, and checked, when that tensor is asked for. So any
/// method may throw a [FormatException] that says what is damaged or broken, and others go on working.
///
/// **Sharing.** Tensors that shared a storage when they were saved share one again. By default storages are mapped
/// copy-on-write: writing works, shows in every tensor on the storage, and never reaches the file.
///
/// **Lifetime.** Closing a checkpoint releases its storages; one that was retained ([Storage#retain]) stays usable, and the
/// mapping with it, until it is released too. Using any other throws [IllegalStateException].
///
/// **Threads.** All methods may be called from several threads at once.
public final class Checkpoint implements AutoCloseable {
    private final Path path;
    private final String format;
    private final MappedFile file;
    private final Contents contents;
    private final AtomicBoolean closed = new AtomicBoolean();

    private Checkpoint(Path path, String format, MappedFile file, Contents contents) {
        this.path = path;
        this.format = format;
        this.file = file;
        this.contents = contents;
    }

    /// Opens a file copy-on-write. Its format is found by its contents, not by its name.
    ///
    /// @param path the file
    /// @return what it holds
    /// @throws IOException if the file is missing, a directory or not readable
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    public static Checkpoint open(Path path) throws IOException {
        return open(path, OpenOptions.defaults());
    }

    /// Opens a file.
    ///
    /// @param path the file
    /// @param options how
    /// @return what it holds
    /// @throws IOException if the file is missing, a directory or not readable
    /// @throws FormatException if its format is unknown, or its contents are damaged, hostile or unsupported
    public static Checkpoint open(Path path, OpenOptions options) throws IOException {
        MappedFile file = MappedFile.open(path, options.mapping());
        try {
            var format = Formats.of(file);
            return new Checkpoint(path, format.name(), file, format.open(file, options));
        } catch (FormatException e) {
            file.close();
            throw e.file() == null ? e.withFile(path.toString()) : e;
        } catch (Throwable e) {
            file.close();
            throw e;
        }
    }

    /// Saves a state as a `.croft` file, durably and atomically: the file appears whole under its name or not at all, and
    /// a file of that name stays as it was until then.
    ///
    /// @param path the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @throws IOException if writing fails; nothing is left behind
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static void save(Path path, @Nullable Object state) throws IOException {
        save(path, state, SaveOptions.defaults());
    }

    /// Saves a state as a `.croft` file, durably and atomically.
    ///
    /// @param path the file to make or replace
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options what else to save
    /// @throws IOException if writing fails; nothing is left behind
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static void save(Path path, @Nullable Object state, SaveOptions options) throws IOException {
        CroftWriter.save(path, state, options);
    }

    /// {@return the name of the file's format, for instance `croft` or `torch-zip`}
    public String format() {
        return format;
    }

    /// {@return the file}
    public Path path() {
        return path;
    }

    /// {@return the state tree, as [io.undercroft.serializer.state] describes it; the same objects at every call}
    public @Nullable Object state() {
        return contents.state();
    }

    /// {@return free-form text about the file}
    public Map<String, String> metadata() {
        return contents.metadata();
    }

    /// {@return the names of all tensors in the order of the state; see [io.undercroft.serializer.state.StateIndex]}
    public SequencedCollection<String> names() {
        return contents.names();
    }

    /// {@return whether there is a tensor of that name}
    ///
    /// @param name a tensor's name
    public boolean contains(String name) {
        return contents.tensor(name).isPresent();
    }

    /// {@return the tensor of that name; always the same object}
    ///
    /// @param name one of [#names]
    /// @throws NoSuchElementException if there is none
    public Tensor tensor(String name) {
        return contents.tensor(name).orElseThrow(() -> new NoSuchElementException(
                path + " has no tensor '" + FormatException.quote(name) + "' among its " + names().size()));
    }

    /// {@return the storages in the order in which the state first uses them}
    public List<Storage> storages() {
        return contents.storages();
    }

    /// Reads the whole file and checks it against its checksums.
    ///
    /// @return what is damaged; empty if all is well
    /// @throws IOException if reading fails
    public List<Damage> verify() throws IOException {
        return contents.verify();
    }

    /// Releases the storages and the file. The second and later calls do nothing.
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                contents.release();
            } finally {
                file.close();
            }
        }
    }

    /// {@return the file and its format}
    @Override
    public String toString() {
        return path + " (" + format + ")";
    }
}
