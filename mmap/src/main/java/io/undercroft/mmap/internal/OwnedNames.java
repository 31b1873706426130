package io.undercroft.mmap.internal;

import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// The names of shared memory that storages of this process created and remove when they are freed.
///
/// A name outlives its process, and its memory with it, until the host restarts. So those that are left when the JVM
/// ends in order (a storage that nobody freed) are removed then; only a process that is killed leaves them behind.
public final class OwnedNames {
    private static final System.Logger LOG = System.getLogger(OwnedNames.class.getName());

    private final Libc libc;
    /// Owners by name: a name may be unlinked and created again while its first owner lives.
    private final Map<String, Lifetime> owners = new ConcurrentHashMap<>();

    private static final class Holder {
        static final OwnedNames OF_THIS_PROCESS = new OwnedNames(Libc.find().orElseThrow());

        static {
            Runtime.getRuntime().addShutdownHook(new Thread(OF_THIS_PROCESS::removeAll, "undercroft-shared-memory"));
        }
    }

    private OwnedNames(Libc libc) {
        this.libc = libc;
    }

    /// {@return those of this process; only where the library can be called}
    public static OwnedNames ofThisProcess() {
        return Holder.OF_THIS_PROCESS;
    }

    /// Takes note of a name that was just created.
    ///
    /// @param name without a slash
    /// @param owner whose it is
    public void add(String name, Lifetime owner) {
        owners.put(name, owner);
    }

    /// Removes a name if it is still the owner's. (That it was unlinked and created anew by another process cannot be
    /// known.)
    ///
    /// @param name without a slash
    /// @param owner whose it is
    public void remove(String name, Lifetime owner) {
        if (owners.remove(name, owner)) {
            unlink(name);
        }
    }

    /// Takes note that a name is nobody's any more.
    ///
    /// @param name without a slash
    public void forget(String name) {
        owners.remove(name);
    }

    private void removeAll() {
        owners.forEach(this::remove);
    }

    private void unlink(String name) {
        try {
            libc.shmUnlink("/" + name);
        } catch (ErrnoException e) {
            if (e.errno() != ErrnoException.ENOENT) {
                LOG.log(Level.WARNING, () -> "shared memory /" + name + " stays: " + e.getMessage());
            }
        }
    }
}
