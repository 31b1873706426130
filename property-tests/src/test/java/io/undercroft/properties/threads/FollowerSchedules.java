package io.undercroft.properties.threads;

import static io.undercroft.properties.threads.Interleavings.explore;
import static io.undercroft.properties.threads.Interleavings.require;
import static io.undercroft.properties.threads.Interleavings.requireRefusal;
import static io.undercroft.properties.threads.Interleavings.together;

import io.undercroft.mmap.MappedFile;
import io.undercroft.properties.threads.Interleavings.Action;
import io.undercroft.serializer.Follower;
import io.undercroft.serializer.Followers;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.spi.CheckpointFormat;
import io.undercroft.serializer.spi.Contents;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/// A follower returns the version that was published last or a later one, which is open until its lease is closed.
class FollowerSchedules {
    private static final int VERSIONS = 3;
    private static final String VERSION = "version";
    /// The number of the newest version.
    private static final AtomicInteger NEWEST = new AtomicInteger();
    private static final MappedFile[] FILES = new MappedFile[VERSIONS];

    @BeforeAll
    static void openTheVersions() throws IOException {
        for (int version = 0; version < VERSIONS; version++) {
            int number = version;
            FILES[version] = new StoreFile("memory:" + version, () -> NEWEST.get() == number).open();
        }
    }

    @AfterAll
    static void closeTheVersions() {
        for (MappedFile file : FILES) {
            file.close();
        }
    }

    /// Versions of a state that are published one after the other, and what a follower does with them.
    private static final class Published implements CheckpointFormat {
        private final AtomicInteger[] opens = new AtomicInteger[VERSIONS];
        private final AtomicInteger[] closes = new AtomicInteger[VERSIONS];
        private final Follower follower;

        Published() throws IOException {
            NEWEST.set(0);
            for (int version = 0; version < VERSIONS; version++) {
                opens[version] = new AtomicInteger();
                closes[version] = new AtomicInteger();
            }
            follower = Followers.of(() -> FILES[NEWEST.get()].retain(), this);
        }

        @Override
        public String name() {
            return "versions";
        }

        @Override
        public boolean matches(MappedFile file) {
            return true;
        }

        @Override
        public Contents open(MappedFile file, OpenOptions options) {
            for (int version = 0; version < VERSIONS; version++) {
                if (FILES[version] == file) {
                    opens[version].incrementAndGet();
                    return new Version(this, version);
                }
            }
            throw new AssertionError("another file");
        }

        /// Takes a lease, and requires that its version is one that may be seen now.
        void lease() throws IOException {
            int least = NEWEST.get();
            try (Follower.Lease lease = follower.lease()) {
                int version = Integer.parseInt(lease.checkpoint().metadata().get(VERSION));
                require(version >= least, "an older version than the published one");
                require(closes[version].get() == 0, "closed while it is leased");
            }
        }

        void close() {
            follower.close();
            for (int version = 0; version < VERSIONS; version++) {
                require(opens[version].get() <= 1, "opened more than once");
                require(opens[version].get() == closes[version].get(), "not closed as often as it was opened");
            }
        }
    }

    /// The contents of a version.
    private static final class Version extends NoContents {
        private final Published published;
        private final int number;

        Version(Published published, int number) {
            this.published = published;
            this.number = number;
        }

        @Override
        public Map<String, String> metadata() {
            return Map.of(VERSION, Integer.toString(number));
        }

        @Override
        public void release() {
            published.closes[number].incrementAndGet();
        }
    }

    @Test
    void versionsArePublishedWhileLeasesAreTaken() {
        explore("lease against publish", () -> {
            Published published = new Published();
            together(() -> {
                NEWEST.set(1);
                NEWEST.set(2);
            }, () -> {
                published.lease();
                published.lease();
            });
            published.close();
        });
    }

    @Test
    void twoThreadsTakeLeasesOnANewVersion() {
        explore("lease against lease on a new version", () -> {
            Published published = new Published();
            NEWEST.set(1);
            Action lease = published::lease;
            together(lease, lease);
            published.close();
        });
    }

    @Test
    void aFollowerIsClosedWhileALeaseIsTaken() {
        explore("lease against close", () -> {
            Published published = new Published();
            NEWEST.set(1);
            together(() -> {
                try {
                    published.lease();
                } catch (IllegalStateException e) {
                    requireRefusal(e, "the follower of memory is closed");
                }
            }, published.follower::close);
            published.close();
        });
    }
}
