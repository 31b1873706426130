package io.undercroft.serializer;

import io.undercroft.format.FormatException;
import io.undercroft.mmap.MapBudget;
import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedMemory;
import io.undercroft.mmap.SharedMemoryDraft;
import io.undercroft.mmap.SharedMemoryException;
import io.undercroft.mmap.SharedMemoryException.Reason;
import io.undercroft.mmap.SharedSegment;
import io.undercroft.mmap.TrustedOwner;
import io.undercroft.serializer.SaveOptions.Compression;
import io.undercroft.serializer.internal.CroftFormat;
import io.undercroft.serializer.internal.graph.ObjectEncoder;
import io.undercroft.serializer.internal.tree.StateIndex;
import io.undercroft.serializer.internal.writing.Save;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.storage.Storage;
import io.undercroft.storage.internal.support.Operation.Timing;
import io.undercroft.storage.internal.support.Operation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/// A state in shared memory that all processes of this user on this host can open. One segment has its storages, each
/// once, and the index; it is a `.croft` file like any other.
///
/// ```java
/// PublishedCheckpoint.publish("weights", state, SaveOptions.defaults());     // one process
///
/// try (Checkpoint c = PublishedCheckpoint.attach("weights")) {               // any other
///     Tensor embed = c.tensor("transformer.wte.weight");           // the same memory in all of them
/// }
/// ```
///
/// **Readers** attach without copying: the bytes are in memory once, for any number of readers. By default their
/// storages are mapped copy-on-write, so that writes of one reader are not visible to the others. Tensors that shared a
/// storage when they were published share one in every process.
///
/// **Versions.** Publishing under an existing name replaces the state in one step: a reader attaches to the old state
/// or to the new one. Attached readers keep the old state, whose memory is freed when the last of them closes it.
/// [#follow] is for readers that attach to the newest version for each unit of work.
///
/// **Other users** may publish under any free name. So only states that this user or root has published are attached,
/// unless the caller passes [TrustedOwner#ANYBODY].
///
/// **Names** are those of [SharedMemory], and are removed as their [NameLifetime] determines. On Linux any program that
/// reads `.croft` files can open `/dev/shm/NAME`. Other systems do not support publishing ([Reason#UNSUPPORTED]).
///
/// **Lifetime.** An object of this class is the publisher's reference to the segment. Closing it may remove the name,
/// as its [NameLifetime] determines, and does not affect attached readers.
///
/// **Threads.** All methods may be called from several threads at once.
public final class PublishedCheckpoint implements AutoCloseable {
    private final SharedMemory memory;
    private final DedupReport report;

    private PublishedCheckpoint(SharedMemory memory, DedupReport report) {
        this.memory = memory;
        this.report = report;
    }

    /// Publishes an open checkpoint, with its metadata, until [#unpublish] is called.
    ///
    /// @param name the name, with or without a slash in front; a state of that name is replaced
    /// @param checkpoint the checkpoint, which may be closed afterwards
    /// @return the publisher's reference
    /// @throws SharedMemoryException if the name is not valid, or shared memory is full; nothing is left behind
    /// @throws FormatException if shared memory of that name exists that is no published state
    /// @throws IOException if bytes of the state cannot be read, or writing fails; an existing state is not replaced
    public static PublishedCheckpoint publish(String name, Checkpoint checkpoint) throws IOException {
        Objects.requireNonNull(name, "name");
        return publish(name, checkpoint.tree(), SaveOptions.defaults().metadata(checkpoint.metadata()));
    }

    /// Publishes a state until [#unpublish] is called.
    ///
    /// @param name the name, with or without a slash in front; a state of that name is replaced
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @return the publisher's reference
    /// @throws IOException as [#publish(String, Object, SaveOptions)]
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static PublishedCheckpoint publish(String name, @Nullable Object state) throws IOException {
        return publish(name, state, SaveOptions.defaults());
    }

    /// Publishes a state until [#unpublish] is called.
    ///
    /// @param name the name, with or without a slash in front; a state of that name is replaced
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save; [SaveOptions#writableInPlace] for readers that map it shared; nothing is
    ///     [compressed][SaveOptions#compress]
    /// @return the publisher's reference
    /// @throws SharedMemoryException if the name is not valid, or shared memory is full; nothing is left behind
    /// @throws FormatException if shared memory of that name exists that is no published state
    /// @throws IOException if bytes of the state cannot be read, or writing fails; an existing state is not replaced
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static PublishedCheckpoint publish(String name, @Nullable Object state, SaveOptions options)
            throws IOException {
        return publish(name, state, options, NameLifetime.UNTIL_UNLINKED);
    }

    /// Publishes a state. All of its memory is allocated before readers can see it.
    ///
    /// @param name the name, with or without a slash in front; a state of that name is replaced
    /// @param state a tree as [io.undercroft.serializer.state] describes it
    /// @param options the options of the save
    /// @param lifetime when the name is removed
    /// @return the publisher's reference
    /// @throws SharedMemoryException if the name is not valid, or shared memory is full; nothing is left behind
    /// @throws FormatException if shared memory of that name exists that is no published state
    /// @throws IOException if bytes of the state cannot be read, or writing fails; an existing state is not replaced
    /// @throws IllegalArgumentException if the state holds something that cannot be saved; the message has its path
    public static PublishedCheckpoint publish(String name, @Nullable Object state, SaveOptions options,
            NameLifetime lifetime)
            throws IOException {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(lifetime, "lifetime");
        checkName(name, TrustedOwner.SELF_OR_ROOT);
        Timing timing = Operation.PUBLISH.begin();
        try (SharedMemoryDraft draft = SharedMemoryDraft.create()) {
            // Compressed chunks would be decoded by each process for itself.
            DedupReport report = Save.toMemory(draft, name, state, options.compress(Compression.NONE));
            PublishedCheckpoint published = new PublishedCheckpoint(draft.publish(name, lifetime), report);
            timing.end(published.name(), published.nbytes());
            return published;
        } catch (SharedMemoryException e) {
            throw e.reason() == Reason.FULL ? full(name, ObjectEncoder.of(state, options.classes()), e) : e;
        }
    }

    /// Adds the total size to the message: the writer has only the size of the piece that did not fit.
    private static SharedMemoryException full(String name, @Nullable Object tree, SharedMemoryException cause) {
        long nbytes = StateIndex.of(tree).storages().stream().filter(storage -> !storage.isMeta())
                .mapToLong(Storage::nbytes).sum();
        return new SharedMemoryException(Reason.FULL,
                name + ": there is no space for this state, whose storages have " + nbytes + " bytes: "
                        + cause.getMessage(),
                cause);
    }

    /// Fails, before anything is written, if the name is not valid or is used by something else.
    private static void checkName(String name, TrustedOwner owner) throws IOException {
        try (MappedFile before = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(), owner)) {
            format(before);
        } catch (FormatException e) {
            throw e.withFile(name);
        } catch (SharedMemoryException e) {
            if (e.reason() != Reason.NOT_FOUND) {
                throw e;
            }
        }
    }

    /// Opens a published state copy-on-write.
    ///
    /// @param name the name, with or without a slash in front
    /// @return the newest version, which stays the same when later ones are published
    /// @throws SharedMemoryException if the name is not valid, or does not exist
    /// @throws FormatException if the shared memory of that name is no published state
    /// @throws IOException if it cannot be read
    public static Checkpoint attach(String name) throws IOException {
        return attach(name, OpenOptions.defaults());
    }

    /// Opens a published state.
    ///
    /// @param name the name, with or without a slash in front
    /// @param options the options for opening; if storages are mapped shared, processes see the writes of others
    /// @return the newest version, which stays the same when later ones are published
    /// @throws SharedMemoryException if the name is not valid or does not exist, or belongs to another user than this
    ///     one and root
    /// @throws FormatException if the shared memory of that name is no published state
    /// @throws IOException if it cannot be read
    public static Checkpoint attach(String name, OpenOptions options) throws IOException {
        return attach(name, options, TrustedOwner.SELF_OR_ROOT);
    }

    /// Opens a published state, possibly of another user.
    ///
    /// @param name the name, with or without a slash in front
    /// @param options the options for opening; if storages are mapped shared, processes see the writes of others
    /// @param owner the accepted publishers
    /// @return the newest version, which stays the same when later ones are published
    /// @throws SharedMemoryException if the name is not valid or does not exist, or it belongs to another user
    /// @throws FormatException if the shared memory of that name is no published state
    /// @throws IOException if it cannot be read
    public static Checkpoint attach(String name, OpenOptions options, TrustedOwner owner) throws IOException {
        Objects.requireNonNull(owner, "owner");
        return Checkpoint.open(MappedFile.attach(name, options.mapping(), new MapBudget(), owner),
                PublishedCheckpoint::format,
                options);
    }

    /// Starts to follow a name, for a program that uses the newest version for each unit of work.
    ///
    /// @param name the name, with or without a slash in front
    /// @return the source of leases on the newest version, copy-on-write
    /// @throws SharedMemoryException if the name is not valid, or does not exist yet
    /// @throws FormatException if the shared memory of that name is no published state
    /// @throws IOException if it cannot be read
    public static Follower follow(String name) throws IOException {
        return follow(name, OpenOptions.defaults());
    }

    /// Starts to follow a name, for a program that uses the newest version for each unit of work.
    ///
    /// @param name the name, with or without a slash in front
    /// @param options the options for opening each version
    /// @return the source of leases on the newest version
    /// @throws SharedMemoryException if the name is not valid, or does not exist yet
    /// @throws FormatException if the shared memory of that name is no published state
    /// @throws IOException if it cannot be read
    public static Follower follow(String name, OpenOptions options) throws IOException {
        return follow(name, options, TrustedOwner.SELF_OR_ROOT);
    }

    /// Starts to follow a name under which another user may publish.
    ///
    /// @param name the name, with or without a slash in front
    /// @param options the options for opening each version
    /// @param owner the accepted publishers; [Follower#lease] refuses versions of others
    /// @return the source of leases on the newest version
    /// @throws SharedMemoryException if the name is not valid or does not exist yet, or it belongs to another user
    /// @throws FormatException if the shared memory of that name is no published state
    /// @throws IOException if it cannot be read
    public static Follower follow(String name, OpenOptions options, TrustedOwner owner) throws IOException {
        Objects.requireNonNull(owner, "owner");
        return new Follower(name, () -> attach(name, options, owner));
    }

    /// Removes a name. Attached readers keep their mapping.
    ///
    /// @param name the name, with or without a slash in front
    /// @return whether there was such a name
    /// @throws SharedMemoryException if the name is not valid or belongs to another user
    /// @throws FormatException if shared memory of that name exists that is no published state; it stays
    /// @throws IOException if it cannot be read
    public static boolean unpublish(String name) throws IOException {
        checkName(name, TrustedOwner.ANYBODY);
        return SharedMemory.unlink(name);
    }

    /// {@return the published states that last until [#unpublish] and that no running process holds} Their publishers
    /// closed them, ended or were killed, and no reader is attached. Programs that map `/dev/shm/NAME` by other means
    /// are not counted.
    ///
    /// @throws IOException if the registry of shared memory, or a segment, cannot be read
    public static List<SharedSegment> unheld() throws IOException {
        List<SharedSegment> unheld = new ArrayList<>();
        for (SharedSegment segment : SharedMemory.list()) {
            boolean stays = segment.lifetime() == NameLifetime.UNTIL_UNLINKED && !segment.isHeld();
            if (stays && isPublished(segment.name())) {
                unheld.add(segment);
            }
        }
        return unheld;
    }

    /// Removes the names that [#unheld] lists. A name that is attached or published in the meantime stays.
    ///
    /// @return the states whose names were removed
    /// @throws IOException if the registry of shared memory cannot be read or written
    public static List<SharedSegment> unpublishUnheld() throws IOException {
        List<SharedSegment> removed = new ArrayList<>();
        for (SharedSegment segment : unheld()) {
            SharedMemory.unlinkIfUnheld(segment.name()).ifPresent(removed::add);
        }
        return removed;
    }

    private static boolean isPublished(String name) throws IOException {
        try (MappedFile file = MappedFile.attach(name, MapMode.READ_ONLY, new MapBudget(), TrustedOwner.SELF_OR_ROOT)) {
            return new CroftFormat().matches(file);
        } catch (SharedMemoryException _) {
            // It was removed meanwhile, or its name is used by something else.
            return false;
        }
    }

    private static CheckpointFormat format(MappedFile file) throws IOException {
        CroftFormat croft = new CroftFormat();
        if (!croft.matches(file)) {
            throw new FormatException("CROFT-PUBLISHED", "this shared memory is no published state", 0,
                    "Choose another name, or ask the user that created it");
        }
        return croft;
    }

    /// {@return the name, without a slash}
    public String name() {
        return memory.name();
    }

    /// {@return the size of the shared memory, in bytes}
    public long nbytes() {
        return memory.nbytes();
    }

    /// {@return the bytes written, reused and skipped}
    public DedupReport report() {
        return report;
    }

    /// Releases the memory. The second and later calls do nothing.
    @Override
    public void close() {
        memory.close();
    }

    /// {@return the name and the size, for messages}
    @Override
    public String toString() {
        return "published as " + memory;
    }
}
