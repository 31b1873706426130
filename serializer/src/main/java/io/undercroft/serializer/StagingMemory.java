package io.undercroft.serializer;

import io.undercroft.serializer.internal.planning.Staging;

/// Memory that background saves copy a state to, kept from one save to the next.
///
/// ```java
/// try (StagingMemory memory = new StagingMemory()) {
///     SaveOptions options = SaveOptions.defaults().stagingMemory(memory);
///     for (long step = 0; step < steps; step++) {
///         Path file = directory.resolve("step-" + step + ".croft");
///         try (PendingSave save = Checkpoint.saveAsync(file, state, options)) {
///             train(state);
///         }   // here the file is durable, or its failure is thrown
///     }
/// }
/// ```
///
/// The caller of [Checkpoint#saveAsync] waits while the bytes that tensors reach are copied. Memory that is new to the
/// process is slow to fill; with this only the first save has to. It keeps as much as the largest save needed. A save
/// that begins before the previous one has ended allocates separate memory. A [CroftFile] keeps such memory by
/// itself.
///
/// Storages in [io.undercroft.mmap.AnonymousMemory#freezableAllocator] are frozen instead of copied, and need no memory
/// here.
///
/// Safe for use by any thread.
public final class StagingMemory implements AutoCloseable {
    private final Staging staging = new Staging();

    /// Keeps no memory yet.
    public StagingMemory() {}

    Staging staging() {
        return staging;
    }

    /// Releases the memory; what a pending save reads, when that has ended. Saves that begin afterwards keep nothing.
    @Override
    public void close() {
        staging.close();
    }
}
