package io.undercroft.serializer.internal;

import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.spi.OpenRequest;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.stream.Stream;

/// Extents of files in stores, in files of a directory of this host that are named by the sums of their bytes. So an
/// extent is fetched once, however many files have it. What is read is compared with its sums again: a file that was
/// cut, changed or put there by somebody else is deleted.
///
/// Several processes may use a directory: files appear by renaming, and are never changed. When the directory has
/// become too large, the files that were used longest ago are deleted. Safe for any thread.
final class ExtentCache {
    /// The setting with the directory.
    static final String DIRECTORY = "croft.cache";
    /// The setting with the maximum size.
    static final String LIMIT = "croft.cacheMiB";
    static final List<Setting> SETTINGS = List.of(
            Setting.ofOpening(DIRECTORY, "none, or a directory that keeps bytes of files in stores"),
            Setting.ofOpening(LIMIT, "10240, or another number of MiB that the directory may have"));

    private static final Logger LOG = System.getLogger(ExtentCache.class.getName());
    private static final long DEFAULT_MIB = 10_240;
    private static final long MOST_MIB = 1 << 30;
    private static final int MIB_LOG2 = 20;
    private static final String LOCK = "lock";
    private static final String TEMPORARY = ".part";
    /// The directory is looked through whenever this process has added such a share of the limit.
    private static final long SHARE = 32;
    private static final Duration ABANDONED = Duration.ofHours(1);
    private static final Map<Path, ExtentCache> OPEN = new ConcurrentHashMap<>();

    private final Path directory;
    /// The number of bytes that were added since the directory was looked through, or more than any limit.
    private final AtomicLong added = new AtomicLong(Long.MAX_VALUE / 2);

    private ExtentCache(Path directory) {
        this.directory = directory;
    }

    /// A use of the directory, with the limit that the options set.
    ///
    /// @param cache the directory
    /// @param limit the maximum size of all files, in bytes
    record Use(ExtentCache cache, long limit) {
        /// {@return the directory that the options name, if they name one}
        ///
        /// @param request the options
        /// @throws IllegalArgumentException if the limit is no number
        static Optional<Use> of(OpenRequest request) {
            Optional<String> directory = request.setting(DIRECTORY).filter(text -> !text.isBlank());
            if (directory.isEmpty()) {
                return Optional.empty();
            }
            long limit = mib(request.setting(LIMIT).orElse(String.valueOf(DEFAULT_MIB))) << MIB_LOG2;
            return Optional.of(new Use(OPEN.computeIfAbsent(Path.of(directory.get()).toAbsolutePath().normalize(),
                    ExtentCache::new), limit));
        }

        private static long mib(String text) {
            try {
                long number = Long.parseLong(text);
                if (number > 0 && number <= MOST_MIB) {
                    return number;
                }
            } catch (NumberFormatException _) {
                // Reported below.
            }
            throw new IllegalArgumentException("the setting " + LIMIT + " is a number of MiB from 1 to " + MOST_MIB);
        }

        /// {@return whether there seems to be a file with an extent}
        ///
        /// @param extent the extent
        boolean has(ExtentRecord extent) {
            return Files.exists(cache.entry(extent));
        }

        /// Supplies files in stores with those of some extents that are here.
        ///
        /// @param extents the extents
        /// @param files returns the file of an extent by its base
        /// @return the extents that are not here
        List<ExtentRecord> supply(List<ExtentRecord> extents, IntFunction<MappedFile> files) {
            return cache.supply(extents, files);
        }

        /// Adds extents, which have been fetched.
        ///
        /// @param extents all extents of a storage, in order
        /// @param fetched those to be added
        /// @param storage the bytes of the storage
        void keep(List<ExtentRecord> extents, List<ExtentRecord> fetched, MemorySegment storage) {
            cache.keep(extents, fetched, storage, limit);
        }
    }

    private List<ExtentRecord> supply(List<ExtentRecord> extents, IntFunction<MappedFile> files) {
        List<ExtentRecord> missing = new ArrayList<>();
        for (ExtentRecord extent : extents) {
            if (extent.kind() != ExtentKind.ZERO) {
                MappedFile file = files.apply(extent.base());
                if (file.source().isPresent() && !file.isFetched(extent.fileOffset(), extent.length())) {
                    missing.add(extent);
                }
            }
        }
        try {
            ExtentDigester digester = new ExtentDigester();
            for (Iterator<ExtentRecord> each = missing.iterator(); each.hasNext();) {
                ExtentRecord extent = each.next();
                if (supply(extent, files.apply(extent.base()), digester)) {
                    each.remove();
                }
            }
        } catch (IOException e) {
            LOG.log(Level.WARNING, "{0}: it cannot be read: {1}", directory, e);
        }
        return missing;
    }

    private boolean supply(ExtentRecord extent, MappedFile file, ExtentDigester digester) throws IOException {
        Path entry = entry(extent);
        try (FileChannel channel = FileChannel.open(entry); Arena arena = Arena.ofConfined()) {
            if (channel.size() == extent.length()) {
                MemorySegment bytes = arena.allocate(extent.length());
                var buffer = bytes.asByteBuffer();
                while (buffer.hasRemaining() && channel.read(buffer) >= 0) {
                    // Until it is full, or the file was cut.
                }
                digester.update(bytes);
                if (digester.finish().equals(extent.sums())) {
                    file.supply(extent.fileOffset(), bytes);
                    Files.setLastModifiedTime(entry, FileTime.from(Instant.now()));
                    return true;
                }
            }
            Files.deleteIfExists(entry);
            LOG.log(Level.WARNING, "{0}: its bytes were not those that its name says, and it was deleted", entry);
        } catch (NoSuchFileException _) {
            // It is not here, or not any more.
        }
        return false;
    }

    private Path entry(ExtentRecord extent) {
        String digest = extent.digest().toString();
        return directory.resolve(digest.substring(0, 2))
                .resolve(digest + "-" + Integer.toHexString(extent.sums().checksum()) + "-" + extent.length());
    }

    /// A failure, for instance since the disk is full, has no other effect than that bytes are fetched again next time.
    private void keep(List<ExtentRecord> extents, List<ExtentRecord> fetched, MemorySegment storage, long limit) {
        Set<ExtentRecord> wanted = Set.copyOf(fetched);
        long start = 0;
        try {
            for (ExtentRecord extent : extents) {
                MemorySegment bytes = storage.asSlice(start, extent.length());
                start += extent.length();
                if (wanted.contains(extent) && extent.length() <= limit / SHARE) {
                    keep(extent, bytes);
                    if (added.addAndGet(extent.length()) > limit / SHARE) {
                        shrink(limit);
                    }
                }
            }
        } catch (IOException e) {
            LOG.log(Level.WARNING, "{0}: bytes cannot be kept in it: {1}", directory, e);
        }
    }

    private void keep(ExtentRecord extent, MemorySegment bytes) throws IOException {
        Path entry = entry(extent);
        if (Files.exists(entry)) {
            return;
        }
        Files.createDirectories(entry.getParent());
        Path temporary = directory.resolve(UUID.randomUUID() + TEMPORARY);
        try {
            try (FileChannel channel = FileChannel.open(temporary, StandardOpenOption.CREATE_NEW,
                    StandardOpenOption.WRITE)) {
                var buffer = bytes.asByteBuffer();
                while (buffer.hasRemaining()) {
                    channel.write(buffer);
                }
            }
            Files.move(temporary, entry, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }

    /// A file of the directory.
    private record Entry(Path path, long nbytes, FileTime used) {}

    /// Deletes files until some space is left. One process does so at a time; the others rely on it.
    private void shrink(long limit) throws IOException {
        try (FileChannel channel = FileChannel.open(directory.resolve(LOCK), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE); FileLock lock = channel.tryLock()) {
            if (lock == null) {
                return;
            }
            added.set(0);
            List<Entry> entries = entries();
            long total = entries.stream().mapToLong(Entry::nbytes).sum();
            if (total <= limit - limit / SHARE) {
                return;
            }
            entries.sort(Comparator.comparing(Entry::used));
            for (Entry entry : entries) {
                if (total <= limit - 2 * (limit / SHARE)) {
                    break;
                }
                Files.deleteIfExists(entry.path);
                total -= entry.nbytes;
            }
        } catch (OverlappingFileLockException _) {
            // Another thread does it.
        }
    }

    private List<Entry> entries() throws IOException {
        List<Entry> entries = new ArrayList<>();
        Instant abandoned = Instant.now().minus(ABANDONED);
        try (Stream<Path> files = Files.walk(directory, 2)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                try {
                    BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
                    boolean isTemporary = file.toString().endsWith(TEMPORARY);
                    if (isTemporary && attributes.lastModifiedTime().toInstant().isBefore(abandoned)) {
                        Files.deleteIfExists(file);
                    } else if (attributes.isRegularFile() && !isTemporary && !file.endsWith(LOCK)) {
                        entries.add(new Entry(file, attributes.size(), attributes.lastModifiedTime()));
                    }
                } catch (NoSuchFileException _) {
                    // Another process has deleted it.
                }
            }
        }
        return entries;
    }
}
