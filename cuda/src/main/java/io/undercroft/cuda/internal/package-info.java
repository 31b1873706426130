/// The implementation of this module. Not for use outside it.
///
/// [Driver] calls the CUDA driver, and no other class does. [CudaMemory] is the memory of a device; [Ring]
/// copies through pinned buffers; [ExportedMemory] and [ImportedMemory] share memory with other processes.
@NullMarked
package io.undercroft.cuda.internal;

import org.jspecify.annotations.NullMarked;
