package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.serializer.internal.disk.Disk;
import io.undercroft.serializer.internal.disk.FileTarget;
import io.undercroft.serializer.internal.disk.Target.Begun;
import io.undercroft.serializer.internal.disk.Target.Replacing;
import io.undercroft.serializer.internal.sets.SetWriter;
import io.undercroft.serializer.spi.StoreTarget.Creation;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import io.undercroft.testsupport.PeerJvm;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/// Who may open a file while it is written, and afterwards.
@DisabledOnOs(OS.WINDOWS)
class FilePermissionsTest {
    private static final SaveOptions OPTIONS = SaveOptions.defaults();
    private static final int NOBODY = 65_534;
    private static final List<String> AS_NOBODY = List.of("setpriv", "--reuid", "65534", "--regid", "65534",
            "--clear-groups");

    @TempDir
    Path folder;
    private Path source;
    private final WatchedDisk disk = new WatchedDisk();

    /// A way to write a file.
    private enum Writer {
        SAVE("a.croft") {
            @Override
            void write(Disk disk, Path source, Path file) throws IOException {
                ForwardingDisk.save(disk, file, state(2), OPTIONS);
            }
        },
        COPY("a.croft") {
            @Override
            void write(Disk disk, Path source, Path file) throws IOException {
                try (CroftFile open = CroftFile.open(disk, source, OPTIONS, OpenOptions.defaults())) {
                    open.copy(file);
                }
            }
        },
        COMPACT("a.croft") {
            @Override
            void write(Disk disk, Path source, Path file) throws IOException {
                if (!Files.exists(file)) {
                    Files.createFile(file);
                    Checkpoint.save(file, state(3));
                    CroftFile.open(file).commit(state(4), OPTIONS);
                }
                try (CroftFile open = CroftFile.open(disk, file, OPTIONS, OpenOptions.defaults())) {
                    open.compact(_ -> true);
                }
            }
        },
        FORMAT("a.raw") {
            @Override
            void write(Disk disk, Path source, Path file) throws IOException {
                ForwardingDisk.save(disk, file, Tensor.ones(DType.UINT8, 9), OPTIONS);
            }
        },
        FORMAT_SET("a.rawset") {
            @Override
            void write(Disk disk, Path source, Path file) throws IOException {
                Files.deleteIfExists(file.resolveSibling("part.raw"));
                ForwardingDisk.save(disk, file, Map.of("part.raw", Tensor.ones(DType.UINT8, 9)), OPTIONS);
            }
        },
        SHARD_SET("a.croftset") {
            @Override
            void write(Disk disk, Path source, Path file) throws IOException {
                new SetWriter(disk).save(file, List.of(source));
            }
        };

        private final String name;

        Writer(String name) {
            this.name = name;
        }

        abstract void write(Disk disk, Path source, Path file) throws IOException;
    }

    /// Records the modes that temporary files have when something is written to them.
    private final class WatchedDisk extends ForwardingDisk {
        private final Set<String> modes = new TreeSet<>();
        private Runnable beforeNaming = () -> {};

        @Override
        void before(Operation operation) throws IOException {
            if (operation == Operation.RENAME) {
                beforeNaming.run();
            }
            if (operation == Operation.WRITE) {
                try (Stream<Path> files = Files.list(folder)) {
                    for (Path file : files.filter(each -> each.toString().endsWith(".croft-tmp")).toList()) {
                        modes.add(mode(file));
                    }
                }
            }
        }
    }

    @BeforeEach
    void save() throws IOException {
        source = Files.createDirectory(folder.resolve("source")).resolve("source.croft");
        Checkpoint.save(source, state(1));
    }

    private static Map<String, Tensor> state(long value) {
        return Map.of("a", Tensor.of(value));
    }

    private static String mode(Path file) throws IOException {
        return PosixFilePermissions.toString(Files.getPosixFilePermissions(file));
    }

    @ParameterizedTest
    @EnumSource
    void whileAFileIsWrittenOnlyItsUserCanOpenIt(Writer writer) throws IOException {
        Path file = folder.resolve(writer.name);
        writer.write(disk, source, file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        writer.write(disk, source, file);
        assertThat(disk.modes).containsExactly("rw-------");
        assertThat(mode(file)).isEqualTo("rw-rw-rw-");
    }

    @ParameterizedTest
    @EnumSource
    void aNewFileHasTheModeOfNewFilesAndAReplacedOneKeepsIts(Writer writer) throws IOException {
        Path file = folder.resolve(writer.name);
        String usual = mode(Files.createFile(folder.resolve("usual")));
        writer.write(disk, source, file);
        assertThat(mode(file)).isEqualTo(usual);
        for (String kept : List.of("rw-------", "rw-r-----", "rwxrwxr-x")) {
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(kept));
            writer.write(disk, source, file);
            assertThat(mode(file)).isEqualTo(kept);
        }
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files.map(Path::getFileName).map(Path::toString)).noneMatch(name -> name.startsWith("."));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFileThatIsAboutToGetItsNameIsNotDeletedByAnotherProcess(Writer writer) throws IOException {
        Path file = folder.resolve(writer.name);
        AtomicInteger saves = new AtomicInteger();
        disk.beforeNaming = () -> {
            try (PeerJvm peer = PeerJvm.start(Saving.class, folder.resolve("other").toString())) {
                assertThat(peer.lines()).containsExactly("saved");
                saves.incrementAndGet();
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        };
        writer.write(disk, source, file);
        assertThat(saves).hasPositiveValue();
        assertThat(file).isRegularFile();
    }

    @Test
    void aReplacedFileKeepsItsOwnerAndItsGroup() throws IOException {
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state(1));
        assumeTrue(OccupiedNamesTest.give(file, NOBODY), "only root can make a file of somebody else");
        Files.setAttribute(file, "unix:gid", NOBODY);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        Checkpoint.save(file, state(2));
        assertThat(Files.readAttributes(file, "unix:uid,gid")).containsEntry("uid", NOBODY)
                .containsEntry("gid", NOBODY);
        assertThat(mode(file)).isEqualTo("rw-r-----");
    }

    @Test
    void whereTheGroupCannotBeKeptTheModeAllowsNobodyMoreThanBefore() throws Exception {
        assumeTrue(PeerJvm.canStartBy(AS_NOBODY), "only root can be another user");
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            assumeTrue(!Files.isDirectory(Path.of(entry)) || Commands.succeed(Stream.concat(AS_NOBODY.stream(),
                    Stream.of("test", "-x", entry)).toArray(String[]::new)), "the classes are root's");
        }
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxrwxrwx"));
        Path file = folder.resolve("a.croft");
        Checkpoint.save(file, state(1));
        Map<String, String> expected = Map.of("rw-rw----", "rw-------", "rw-r--r--", "rw-r--r--", "rw----r--",
                "rw-------", "rw-rw-r--", "rw-r--r--");
        for (Map.Entry<String, String> modes : expected.entrySet()) {
            Files.setAttribute(file, "unix:uid", 0);
            Files.setAttribute(file, "unix:gid", 0);
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(modes.getKey()));
            try (PeerJvm peer = PeerJvm.startBy(AS_NOBODY, Saving.class, file.toString())) {
                assertThat(peer.lines()).containsExactly("saved");
            }
            assertThat(Files.getAttribute(file, "unix:gid")).isEqualTo(NOBODY);
            assertThat(mode(file)).as(modes.getKey()).isEqualTo(modes.getValue());
        }
    }

    /// A process of another user that replaces a file.
    static final class Saving {
        private Saving() {}

        @SuppressWarnings("SystemOut")
        public static void main(String[] args) throws IOException {
            try (Begun file = FileTarget.of(Path.of(args[0]), Disk.system()).begin(Creation.REPLACING,
                    Replacing.ANY)) {
                file.commit(() -> {});
            }
            System.out.println("saved");
        }
    }
}
