package io.undercroft.mmap.internal;

import static io.undercroft.mmap.internal.Constant.O_CREAT;
import static io.undercroft.mmap.internal.Constant.O_EXCL;
import static io.undercroft.mmap.internal.Constant.O_RDWR;

import io.undercroft.mmap.NameLifetime;
import io.undercroft.mmap.SharedSegment;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/// The names of shared memory on systems where they are not files (macOS) and cannot be renamed. So a name exists
/// before its segment is filled, and no segment is replaced atomically. Only holders in this process are known: a name
/// that does not last until it is unlinked is removed by its creator.
final class ProcessLocalNames implements SegmentNames {
    private static final System.Logger LOG = System.getLogger(ProcessLocalNames.class.getName());
    private static final int OWNER_ONLY = 0600;

    private final Libc libc;
    private final Set<Named> created = ConcurrentHashMap.newKeySet();

    ProcessLocalNames(Libc libc) {
        this.libc = libc;
    }

    @Override
    public Draft draft() throws IOException {
        throw new RegistryException("a segment cannot get its name after it was filled on this system; create it by its"
                + " name");
    }

    @Override
    public Draft draft(String name) throws IOException {
        return new Named(name, libc.shmOpen("/" + name, Constant.flags(O_CREAT, O_EXCL, O_RDWR), OWNER_ONLY));
    }

    @Override
    public Attached attach(String name, int flags, boolean ofAnybody) throws IOException {
        int fd = libc.shmOpen("/" + name, flags, 0);
        try {
            libc.checkSegment(fd, ofAnybody);
            return new Attached(fd, Optional.empty());
        } catch (IOException e) {
            libc.close(fd);
            throw e;
        }
    }

    @Override
    public Optional<SharedSegment> unlinkIfUnheld(String name) {
        return Optional.empty();
    }

    @Override
    public boolean unlink(String name) throws IOException {
        created.removeIf(each -> each.name.equals(name));
        return remove(name);
    }

    @Override
    public Optional<SharedSegment> find(String name, long inode) {
        return Optional.empty();
    }

    @Override
    public List<SharedSegment> list() {
        return List.of();
    }

    @Override
    public List<SharedSegment> gc() {
        return List.of();
    }

    @Override
    public void releaseAll() {
        created.forEach(Named::release);
    }

    private boolean remove(String name) throws ErrnoException {
        try {
            libc.shmUnlink("/" + name);
            return true;
        } catch (ErrnoException e) {
            if (e.errno() == ErrnoException.ENOENT) {
                return false;
            }
            throw e;
        }
    }

    /// A segment that has its name from the start.
    private final class Named implements Draft, Hold {
        private final String name;
        private final int fd;
        private final AtomicBoolean isClosed = new AtomicBoolean();

        Named(String name, int fd) {
            this.name = name;
            this.fd = fd;
        }

        @Override
        public int descriptor() {
            return fd;
        }

        @Override
        public Hold create(String as, NameLifetime lifetime) {
            if (lifetime != NameLifetime.UNTIL_UNLINKED) {
                created.add(this);
            }
            isClosed.set(true);
            libc.close(fd);
            return this;
        }

        @Override
        public Hold publish(String as, NameLifetime lifetime) throws IOException {
            throw new RegistryException("a segment cannot replace another one on this system; unlink that first");
        }

        @Override
        public void close() {
            if (!isClosed.getAndSet(true)) {
                libc.close(fd);
                removeQuietly();
            }
        }

        /// A name that was unlinked in this process, and perhaps created again, no longer belongs to this segment.
        @Override
        public void release() {
            if (created.remove(this)) {
                removeQuietly();
            }
        }

        private void removeQuietly() {
            try {
                remove(name);
            } catch (ErrnoException e) {
                LOG.log(Level.WARNING, () -> "shared memory /" + name + " is not removed: " + e.getMessage());
            }
        }
    }
}
