package io.undercroft.mmap;

import io.undercroft.mmap.internal.Libc;
import java.util.Optional;

/// Mapped files where libc cannot be called.
class ChannelMappedFileTest extends MappedFileContract {
    @Override
    Optional<Libc> libc() {
        return Optional.empty();
    }
}
