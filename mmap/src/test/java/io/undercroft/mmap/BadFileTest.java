package io.undercroft.mmap;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.mmap.internal.Libc;
import io.undercroft.storage.DType;
import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Files that cannot be mapped, and systems that have no more: each a typed exception that says what to do, and nothing
/// that was created is left behind.
class BadFileTest {

    @TempDir
    Path folder;

    static Optional<?>[] libraries() {
        return new Optional<?>[]{Libc.find(), Optional.empty()};
    }

    /// Files of sysfs can be read and not mapped.
    @ParameterizedTest
    @MethodSource("libraries")
    void aFileOfASystemThatMapsNoFilesSaysWhatWorks(Optional<Libc> libc) throws IOException {
        Path path = Path.of("/sys/kernel/mm/transparent_hugepage/enabled");
        assumeTrue(Files.isReadable(path), "there is no such system");
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY, new MapBudget(), libc)) {
            assertThatExceptionOfType(MappingException.class).isThrownBy(() -> file.map(0, 4).get(JAVA_BYTE, 0))
                    .withMessageStartingWith(path + ": cannot be mapped: ")
                    .withMessageContaining("OpenOptions.inMemory()");
        }
    }

    /// The first page of the memory of a process is not mapped: reading it fails as a bad disk does.
    @ParameterizedTest
    @MethodSource("libraries")
    void aReadErrorNamesTheFileAndTheByte(Optional<Libc> libc) {
        Path path = Path.of("/proc/self/mem");
        assumeTrue(Files.isReadable(path), "there is no such system");
        assertThatExceptionOfType(FileReadException.class)
                .isThrownBy(() -> MappedFile.open(path, MapMode.READ_ONLY, new MapBudget(), libc))
                .withMessageStartingWith(path + ": read error at byte 0x0: ").withMessageContaining("Check the disk")
                .satisfies(e -> assertThat(e.offset()).isZero());
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void whatIsNoFileOfTheHostIsRefusedInEveryModeAndLeavesNothing(Optional<Libc> libc) throws IOException {
        Path archive = folder.resolve("a.zip");
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("nowhere"));
        try (FileSystem zip = FileSystems.newFileSystem(URI.create("jar:" + archive.toUri()),
                Map.of("create", "true"))) {
            Path inside = Files.writeString(zip.getPath("f"), "abc");
            for (MapMode mode : MapMode.values()) {
                for (ByteRange range : List.of(ByteRange.whole(), ByteRange.bytes(2))) {
                    refused(folder.resolve("none/f"), mode, range, libc, NoSuchFileException.class, "");
                    refused(link, mode, range, libc, NoSuchFileException.class, "");
                    refused(folder, mode, range, libc, FileSystemException.class, "it is a directory");
                    refused(Path.of(""), mode, range, libc, FileSystemException.class, "it is a directory");
                    refused(inside, mode, range, libc, FileSystemException.class, "copy it out of its archive");
                }
                refused(folder.resolve("f"), mode, ByteRange.whole(), libc, NoSuchFileException.class, "no such file");
                refused(folder.resolve("x\uFFFD"), mode, ByteRange.whole(), libc, NoSuchFileException.class,
                        "rename the file");
                refused(folder.resolve("n".repeat(300)), mode, ByteRange.whole(), libc, FileSystemException.class,
                        libc.isPresent() ? "longer than file systems allow" : "too long");
            }
            for (MapMode mode : List.of(MapMode.READ_ONLY, MapMode.PRIVATE)) {
                refused(folder.resolve("f"), mode, ByteRange.bytes(2), libc, NoSuchFileException.class, "no such file");
            }
        }
        assertThat(names(folder)).containsExactlyInAnyOrder("a.zip", "link");
    }

    @ParameterizedTest
    @MethodSource("libraries")
    @EnabledOnOs(OS.LINUX)
    void pipesAndDevicesAndMadeUpFilesAreRefused(Optional<Libc> libc) throws Exception {
        Path pipe = folder.resolve("pipe");
        Commands.makePipe(pipe);
        for (MapMode mode : MapMode.values()) {
            refused(pipe, mode, ByteRange.whole(), libc, FileSystemException.class, "only regular files");
            refused(Path.of("/dev/zero"), mode, ByteRange.bytes(10), libc, FileSystemException.class,
                    "only regular files");
        }
        refused(Path.of("/proc/self/status"), MapMode.PRIVATE, ByteRange.whole(), libc, FileSystemException.class,
                "bytes but no size");
        assertThatThrownBy(
                () -> FileStorage.open(Path.of("/proc/self/status"), MapMode.SHARED, ByteRange.bytes(10), libc))
                .isInstanceOf(FileSystemException.class);
    }

    /// What has the path is looked at before it is opened, and by then may be a pipe that nobody writes to.
    @Test
    @EnabledOnOs(OS.LINUX)
    @Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aPipeThatTakesThePlaceOfAFileWhileItIsOpenedIsNotWaitedFor() throws Exception {
        Path path = folder.resolve("f");
        Path pipe = folder.resolve("pipe");
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        Commands.makePipe(pipe);
        AtomicBoolean isOver = new AtomicBoolean();
        Thread other = Thread.ofPlatform().start(() -> exchange(path, List.of(pipe, file), isOver));
        try {
            int opened = 0;
            for (int times = 0; times < 5000; times++) {
                try (MappedFile mapped = MappedFile.open(path, MapMode.READ_ONLY, new MapBudget(), Libc.find())) {
                    assertThat(mapped.size()).isEqualTo(10);
                    opened++;
                } catch (NoSuchFileException _) {
                    // Before the first exchange.
                } catch (FileSystemException e) {
                    assertThat(e).hasMessageContaining("only regular files");
                }
            }
            assertThat(opened).isPositive();
        } finally {
            isOver.set(true);
            other.join();
        }
    }

    /// Gives a path to one file after the other, each in one step.
    private static void exchange(Path path, List<Path> files, AtomicBoolean isOver) {
        try {
            while (!isOver.get()) {
                for (Path file : files) {
                    Path link = Files.createLink(path.resolveSibling("link"), file);
                    Files.move(link, path, StandardCopyOption.ATOMIC_MOVE);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void whatIsNotInsideTheFileIsRefused(Optional<Libc> libc) throws IOException {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        for (MapMode mode : List.of(MapMode.READ_ONLY, MapMode.PRIVATE)) {
            for (ByteRange outside : List.of(ByteRange.bytes(11), ByteRange.bytes(10).from(1),
                    ByteRange.bytes(1).from(10),
                    ByteRange.bytes(0).from(11), ByteRange.whole().from(11), ByteRange.elements(DType.FLOAT32, 3),
                    ByteRange.bytes(Long.MAX_VALUE))) {
                assertThatExceptionOfType(MappingException.class)
                        .isThrownBy(() -> FileStorage.open(path, mode, outside, libc))
                        .withMessageContaining("ends at byte 10")
                        .satisfies(e -> assertThat(e.offset()).isEqualTo(outside.offset()));
            }
        }
        assertThatExceptionOfType(MappingException.class)
                .isThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.whole().from(11), libc));
        assertThat(path).hasSize(10);
    }

    @Test
    void numbersThatCannotBeAreRefusedBeforeAnythingIsOpened() {
        Path path = folder.resolve("f");
        assertThatIllegalArgumentException().isThrownBy(() -> ByteRange.bytes(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> ByteRange.whole().from(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> ByteRange.bytes(2).from(Long.MAX_VALUE - 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new ByteRange(0, -2));
        assertThatIllegalArgumentException().isThrownBy(() -> ByteRange.elements(DType.FLOAT32, 1L << 62))
                .withMessageContaining("2^63-1");
        assertThatIllegalArgumentException().isThrownBy(() -> ByteRange.elements(DType.INT8, -1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.open(path, MapMode.PRIVATE, ByteRange.bytes(-1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(-1)));
        assertThat(folder).isEmptyDirectory();
    }

    @ParameterizedTest
    @MethodSource("libraries")
    void whatWasCreatedAndCannotBeMappedIsRemovedAgain(Optional<Libc> libc) throws IOException {
        // A sparse file may be that long, but no process has so many addresses.
        long tooMuch = 1L << 43;
        Path path = folder.resolve("f");
        Path there = Files.writeString(folder.resolve("there"), "abc");

        assertThatThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(tooMuch << 8), libc))
                .isInstanceOfAny(MappingException.class, FileSystemException.class);
        assertThatThrownBy(() -> FileStorage.open(path, MapMode.SHARED, ByteRange.bytes(1L << 62), libc))
                .isInstanceOfAny(MappingException.class, FileSystemException.class);
        assertThat(path).doesNotExist();
        assertThatThrownBy(() -> FileStorage.open(there, MapMode.SHARED, ByteRange.bytes(1L << 62), libc))
                .isInstanceOfAny(MappingException.class, FileSystemException.class);
        assertThat(there).content().startsWith("abc");
    }

    // ---- with less than usual ----

    @Test
    @EnabledOnOs(OS.LINUX)
    void aFileThatMayNotBeReadOrWrittenIsRefused() throws Exception {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        Path readOnly = Files.write(folder.resolve("g"), new byte[10]);
        Path closed = Files.createDirectory(folder.resolve("closed"));
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("---------"));
        Files.setPosixFilePermissions(readOnly, PosixFilePermissions.fromString("r--r--r--"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("r-x------"));
        // As root without the power to pass over modes.
        List<String> mortal = List.of("setpriv", "--bounding-set=-dac_override,-dac_read_search");
        assumeTrue(PeerJvm.canStartBy(mortal));

        List<String> refusals = refusals(mortal, "open-private", path, "open-private", readOnly, "open-shared",
                readOnly,
                "create", closed.resolve("f"));
        assertThat(refusals.get(0)).startsWith("AccessDeniedException").contains("permission denied");
        assertThat(refusals.get(1)).startsWith("not refused");
        assertThat(refusals.get(2)).startsWith("AccessDeniedException").contains("permission denied");
        assertThat(refusals.get(3)).startsWith("AccessDeniedException");
        assertThat(closed).isEmptyDirectory();
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aDiskThatIsFullLeavesNothing() throws Exception {
        String disk = Commands.quoted(folder);
        List<String> onSmallDisk = mounted("mount -t tmpfs -o size=64k none " + disk
                + " && head -c 65536 /dev/zero > " + disk + "/rest 2>/dev/null; \"$@\"; ls " + disk);

        assertThat(answers(onSmallDisk, PeerJvm.NATIVE, "create", folder.resolve("f"))).containsExactly(
                "FileSystemException " + folder.resolve("f")
                        + ": it cannot grow to 1048576 bytes (posix_fallocate failed "
                        + "with errno 28 (ENOSPC, no space left)); free some space, or ask for less",
                "0", "rest");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void aDiskThatIsReadOnlyIsRefused() throws Exception {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        String disk = Commands.quoted(folder);
        List<String> readOnly = mounted(
                "mount --bind " + disk + " " + disk + " && mount -o remount,bind,ro " + disk + "; \"$@\"");

        List<String> refusals = refusals(readOnly, "open-private", path, "open-shared", path,
                "create", folder.resolve("g"));
        assertThat(refusals.get(0)).startsWith("not refused");
        assertThat(refusals.get(1)).startsWith("FileSystemException").contains("EROFS, read-only file system");
        assertThat(refusals.get(2)).contains("EROFS, read-only file system");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void tooManyOpenFilesSayWhichLimitToRaise() throws Exception {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        List<String> few = List.of("sh", "-c", "ulimit -n 100; exec \"$@\"", "sh");

        assertThat(refusal(few, "keep-open", path)).startsWith("FileSystemException " + path)
                .contains("too many files are open").contains("ulimit -n");
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void tooManyMappingsSayWhichLimitToRaise() throws Exception {
        Path path = Files.write(folder.resolve("f"), new byte[10]);
        // A JVM needs mappings too, and ends when it gets none: so this one compiles nothing and has all its heap.
        List<String> frugal = Stream.concat(PeerJvm.NATIVE.stream(),
                Stream.of("-Xint", "-XX:+UseSerialGC", "-Xms512m", "-Xmx512m", "-XX:+AlwaysPreTouch")).toList();
        List<String> answers = answers(List.of(), frugal, "keep-mapping", path);

        assertThat(answers.getFirst()).startsWith("MappingException " + path).contains("ENOMEM")
                .contains("sysctl vm.max_map_count");
        assertThat(Long.parseLong(answers.getLast())).isBetween(1000L, 3000L);
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void memoryThatMayNotBeLockedSaysHowToRaiseTheLimit() throws Exception {
        List<String> limited = List.of("setpriv", "--bounding-set=-ipc_lock", "sh", "-c", "ulimit -l 64; exec \"$@\"",
                "sh");
        assumeTrue(PeerJvm.canStartBy(List.of("setpriv", "--bounding-set=-ipc_lock")));

        assertThat(refusal(limited, "lock", folder)).startsWith("IOException 16777216 bytes cannot be locked")
                .contains("this process may lock 65536 bytes in all").contains("ulimit -l");
    }

    private static String refusal(List<String> prefix, String what, Path path) throws Exception {
        return refusals(prefix, what, path).getFirst();
    }

    /// What was said to one thing after the other.
    private static List<String> refusals(List<String> prefix, Object... whatAndPath) throws Exception {
        List<String> answers = answers(prefix, PeerJvm.NATIVE, whatAndPath);
        return IntStream.range(0, whatAndPath.length / 2).mapToObj(i -> answers.get(2 * i)).toList();
    }

    private static List<String> answers(List<String> prefix, List<String> options, Object... whatAndPath)
            throws Exception {
        String[] arguments = Stream.of(whatAndPath).map(Object::toString).toArray(String[]::new);
        try (PeerJvm peer = new PeerJvm(Map.of(), prefix, options, BadFilePeer.class, arguments)) {
            return Stream.generate(peer::answerOrError).takeWhile(line -> !line.equals("null")).toList();
        }
    }

    /// Runs a script in a world of mounts of its own, where that is allowed.
    private static List<String> mounted(String script) throws Exception {
        assumeTrue(PeerJvm.canMount());
        return List.of("unshare", "-m", "sh", "-c", script, "sh");
    }

    private static void refused(Path path, MapMode mode, ByteRange range, Optional<Libc> libc,
            Class<? extends IOException> type, String words) {
        assertThatExceptionOfType(type).isThrownBy(() -> FileStorage.open(path, mode, range, libc))
                .withMessageContaining(words).withMessageNotContaining("\n");
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }
}
