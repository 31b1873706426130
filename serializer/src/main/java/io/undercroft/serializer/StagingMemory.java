package io.undercroft.serializer;

import io.undercroft.serializer.internal.planning.Staging;

/// The memory for staged copies of states, which background saves write: kept from one save to the next.
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
/// The caller of [Checkpoint#saveAsync] waits while the bytes that tensors reach are copied. Filling new memory is
/// slow; with this object only the first save does. It keeps as much memory as the largest save needed. A save that
/// begins before the previous one has ended allocates separate memory. A [CroftFile] has such memory for its commits.
///
/// Storages in [io.undercroft.mmap.AnonymousMemory#freezableAllocator] are frozen instead of copied, and need no memory
/// here.
///
/// All methods may be called from several threads at once.
public final class StagingMemory implements AutoCloseable {
    private final Staging staging = new Staging();

    /// Creates an object that keeps no memory yet.
    public StagingMemory() {}

    Staging staging() {
        return staging;
    }

    /// Releases the memory; memory that a pending save reads is released when that save ends. Saves that begin
    /// afterwards keep none.
    @Override
    public void close() {
        staging.close();
    }
}
