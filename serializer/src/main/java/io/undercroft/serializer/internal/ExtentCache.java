package io.undercroft.serializer.internal;

import io.undercroft.format.internal.ExtentDigester;
import io.undercroft.format.internal.ExtentKind;
import io.undercroft.format.internal.ExtentRecord;
import io.undercroft.mmap.MappedFile;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.internal.disk.LockAttempt;
import io.undercroft.serializer.internal.disk.RegularFiles;
import io.undercroft.serializer.spi.Setting;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.lang.System.Logger;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
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
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Extents of files in stores, in files of a directory of this host that are named by the sums of their bytes. So an
/// extent is fetched once, however many files have it. What is read is compared with its sums again: a file that was
/// cut, changed or put there by somebody else is deleted.
///
/// Several processes may use a directory: files appear by renaming, and are never changed. When the directory has
/// become too large, the files that were used longest ago are deleted. Only this user can read what is kept, as the
/// file in the store may be readable with a token only.
///
/// The directory has a file [#MARKER], which is made first and is locked while files are deleted. A directory that has
/// other files and no such one is refused. In the directory, regular files with the names that this gives are read,
/// counted and deleted; everything else stays. Links are not followed, and nothing is opened that could block.
///
/// Safe for any thread.
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
    private static final String MARKER = "croft-cache";
    private static final String ABOUT = "This directory is a cache of croft. It may be deleted as a whole.\n";
    private static final Pattern FOLDER = Pattern.compile("[0-9a-f]{2}");
    private static final Pattern ENTRY = Pattern.compile("[0-9a-f]{32}-[0-9a-f]{1,8}-[0-9]{1,19}");
    private static final Pattern TEMPORARY = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.part");
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
        /// @param options the options
        /// @throws IllegalArgumentException if the limit is no number
        /// @throws FileSystemException if it is neither a cache nor an empty directory
        static Optional<Use> of(OpenOptions options) throws FileSystemException {
            Optional<String> directory = options.setting(DIRECTORY).filter(text -> !text.isBlank());
            if (directory.isEmpty()) {
                return Optional.empty();
            }
            long limit = mib(options.setting(LIMIT).orElse(String.valueOf(DEFAULT_MIB))) << MIB_LOG2;
            Path path = Path.of(directory.get()).toAbsolutePath().normalize();
            requireCache(path);
            return Optional.of(new Use(OPEN.computeIfAbsent(path, ExtentCache::new), limit));
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
            return RegularFiles.isRegular(cache.entry(extent));
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

    /// A directory that may not be listed is not used, with a warning when something is to be kept.
    private static void requireCache(Path directory) throws FileSystemException {
        boolean isOther = Files.exists(directory) && !Files.isDirectory(directory);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            isOther = files.iterator().hasNext() && !RegularFiles.isRegular(directory.resolve(MARKER));
        } catch (IOException | DirectoryIteratorException _) {
            // It is no directory, not there yet, or may not be listed.
        }
        if (isOther) {
            throw new FileSystemException(directory.toString(), null, "it is no cache of croft, which is a directory "
                    + "with a file " + MARKER + "; set " + DIRECTORY + " to an empty or new directory. Nothing was "
                    + "changed");
        }
    }

    private List<ExtentRecord> supply(List<ExtentRecord> extents, IntFunction<MappedFile> files) {
        List<ExtentRecord> missing = new ArrayList<>();
        for (ExtentRecord extent : extents) {
            if (extent.kind() != ExtentKind.ZERO && extent.coding() == null) {
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
        if (!isFolder(Objects.requireNonNull(entry.getParent()))) {
            return false;
        }
        try (FileChannel channel = RegularFiles.open(entry); Arena arena = Arena.ofConfined()) {
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
        } catch (FileSystemException _) {
            // It is not here, or not any more, belongs to another user, or something else has its name.
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
            mark();
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

    private void mark() throws IOException {
        Path marker = directory.resolve(MARKER);
        if (!RegularFiles.isRegular(marker)) {
            requireCache(directory);
            Files.createDirectories(directory);
            try (FileChannel channel = RegularFiles.open(marker, StandardOpenOption.CREATE)) {
                channel.write(ByteBuffer.wrap(ABOUT.getBytes(StandardCharsets.UTF_8)));
            }
        }
    }

    private static boolean isFolder(Path path) {
        return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
    }

    private void keep(ExtentRecord extent, MemorySegment bytes) throws IOException {
        Path entry = entry(extent);
        Path folder = Objects.requireNonNull(entry.getParent());
        if (Files.exists(entry, LinkOption.NOFOLLOW_LINKS) || (Files.exists(folder) && !isFolder(folder))) {
            return;
        }
        Files.createDirectories(folder);
        Path temporary = directory.resolve(UUID.randomUUID() + ".part");
        try {
            try (FileChannel channel = RegularFiles.open(temporary, StandardOpenOption.CREATE_NEW)) {
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

    /// Deletes files until some space is left. One thread of one process does so at a time; the others rely on it.
    private void shrink(long limit) throws IOException {
        try (LockAttempt lock = LockAttempt.of(directory.resolve(MARKER))) {
            if (!lock.isLocked()) {
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
        }
    }

    /// Lists the files of this cache, and deletes temporary files that were left.
    private List<Entry> entries() throws IOException {
        Instant abandoned = Instant.now().minus(ABANDONED);
        for (Entry temporary : regular(list(directory, TEMPORARY))) {
            if (temporary.used.toInstant().isBefore(abandoned)) {
                Files.deleteIfExists(temporary.path);
            }
        }
        List<Entry> entries = new ArrayList<>();
        for (Path folder : list(directory, FOLDER)) {
            if (isFolder(folder)) {
                entries.addAll(regular(list(folder, ENTRY)));
            }
        }
        return entries;
    }

    private static List<Path> list(Path directory, Pattern names) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> names.matcher(file.getFileName().toString()).matches()).toList();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static List<Entry> regular(List<Path> files) throws IOException {
        Instant now = Instant.now();
        List<Entry> entries = new ArrayList<>();
        for (Path file : files) {
            try {
                BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class,
                        LinkOption.NOFOLLOW_LINKS);
                if (attributes.isRegularFile()) {
                    FileTime used = attributes.lastModifiedTime();
                    // If the clock was set back, times of before say nothing, and must not keep files for ever.
                    boolean isLater = used.toInstant().isAfter(now.plus(ABANDONED));
                    entries.add(new Entry(file, attributes.size(), isLater ? FileTime.from(Instant.EPOCH) : used));
                }
            } catch (NoSuchFileException _) {
                // Another process has deleted it.
            }
        }
        return entries;
    }
}
