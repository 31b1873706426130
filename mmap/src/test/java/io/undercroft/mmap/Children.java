package io.undercroft.mmap;

import io.undercroft.mmap.internal.Libc;
import io.undercroft.testsupport.PeerJvm;
import java.nio.file.Path;
import java.util.List;

/// What children of the tests may do here.
final class Children {
    private Children() {}

    /// Whether they may have namespaces of their own.
    static boolean canUnshare() throws InterruptedException {
        return PeerJvm.canMount() && PeerJvm.canStartBy(List.of("unshare", "--pid", "--fork", "--mount-proc"));
    }

    /// Where the registry of this user is, if it is there.
    static Path registry() {
        return Path.of("/dev/shm/undercroft-" + Libc.find().orElseThrow().userId());
    }
}
