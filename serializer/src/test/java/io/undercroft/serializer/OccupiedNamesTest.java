package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.undercroft.serializer.internal.disk.RegularFiles;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/// Names that a writer uses and that somebody else has given to something else: nothing hangs, and nothing of theirs is
/// lost.
@DisabledOnOs(OS.WINDOWS)
@Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OccupiedNamesTest {
    private static final Map<String, Object> STATE = Map.of("weight", Tensor.of(1f, 2f));
    private static final SaveOptions OPTIONS = SaveOptions.defaults();
    private static final int NOBODY = 65_534;

    @TempDir
    Path folder;
    private Path path;

    @BeforeEach
    void nameTheFile() {
        path = folder.resolve("a.croft");
    }

    private Path temporary() {
        return folder.resolve("." + UUID.randomUUID() + ".croft-tmp");
    }

    private static Path pipe(Path path) throws IOException, InterruptedException {
        Commands.makePipe(path);
        return path;
    }

    private static void refused(ThrowingCallable call, Path named, String... words) {
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(call).withMessageContainingAll(words)
                .satisfies(e -> assertThat(e.getFile()).isEqualTo(named.toString()));
    }

    @Test
    void aPipeNamedLikeALeftTemporaryFileStopsNoSave() throws Exception {
        Path pipe = pipe(temporary());
        Checkpoint.save(path, STATE);
        CroftFile.open(path).commit(STATE, OPTIONS);
        CroftFile.open(path).compact(_ -> true);
        assertThat(pipe).exists();
        try (Checkpoint saved = Checkpoint.open(path)) {
            assertThat(saved.snapshots()).hasSize(2);
        }
    }

    @Test
    void ofFilesNamedLikeLeftTemporaryOnesOnlyThoseOfThisUserAreDeleted() throws IOException {
        Path own = privateFile();
        Path link = Files.createSymbolicLink(temporary(), Files.writeString(folder.resolve("victim"), "precious"));
        Path directory = Files.createDirectory(temporary());
        Path other = privateFile();
        boolean isOthers = give(other, NOBODY);
        Checkpoint.save(path, STATE);
        assertThat(own).doesNotExist();
        assertThat(Files.exists(link, LinkOption.NOFOLLOW_LINKS)).isTrue();
        assertThat(folder.resolve("victim")).hasContent("precious");
        assertThat(directory).isDirectory();
        assumeTrue(isOthers, "only root can make a file of somebody else");
        assertThat(other).exists();
    }

    private Path privateFile() throws IOException {
        Path file = temporary();
        RegularFiles.open(file, StandardOpenOption.CREATE_NEW).close();
        return file;
    }

    static boolean give(Path file, int user) throws IOException {
        try {
            Files.setAttribute(file, "unix:uid", user);
            return true;
        } catch (FileSystemException _) {
            return false;
        }
    }

    @Test
    void aLockThatIsAPipeOrADirectoryIsRefusedAndStays() throws Exception {
        Checkpoint.save(path, STATE);
        Path lock = pipe(folder.resolve("a.croft.lock"));
        refused(() -> CroftFile.open(path).commit(STATE, OPTIONS), path, lock.toString(), "no regular file");
        Files.delete(lock);
        Files.createDirectory(lock);
        refused(() -> CroftFile.open(path).commit(STATE, OPTIONS), path, lock.toString(), "it is a directory");
        Files.delete(lock);
        CroftFile.open(path).commit(STATE, OPTIONS);
    }

    /// As `poetry.lock` is for a file that is called `poetry`.
    @Test
    void aFileOfAnotherProgramThatHasTheNameOfTheLockIsNotEmptied() throws IOException {
        Path file = folder.resolve("poetry");
        Checkpoint.save(file, STATE);
        Path other = Files.writeString(folder.resolve("poetry.lock"), "[[package]]\n");
        refused(() -> CroftFile.open(file).commit(STATE, OPTIONS), file, other.toString(), "another program");
        refused(() -> Checkpoint.save(file, STATE), file, other.toString(), "another program");
        assertThat(other).hasContent("[[package]]\n");
    }

    @Test
    void aPipeIsNotAppendedToNorOpenedNorABase() throws Exception {
        Path pipe = pipe(folder.resolve("pipe"));
        refused(() -> CroftFile.open(pipe).commit(STATE, OPTIONS), pipe, "no regular file");
        refused(() -> CroftFile.open(pipe).compact(_ -> true), pipe, "only regular files");
        refused(() -> Checkpoint.open(pipe), pipe, "only regular files");
        refused(() -> Checkpoint.save(path, STATE, OPTIONS.base(pipe)), pipe, "regular file");
        try (CroftFile file = CroftFile.open(pipe)) {
            refused(file::newest, pipe, "only regular files");
            refused(() -> file.commit(STATE, ""), pipe, "regular file");
        }
        assertThat(folder.resolve("pipe.lock")).doesNotExist();
    }

    @Test
    void aPathInAnArchiveIsRefusedWhereverAFileIsWrittenOrOpened() throws IOException {
        URI archive = URI.create("jar:" + folder.resolve("a.zip").toUri());
        Checkpoint.save(path, STATE);
        try (FileSystem zip = FileSystems.newFileSystem(archive, Map.of("create", "true"))) {
            Path inside = zip.getPath("/a.croft");
            Files.copy(path, inside);
            Path fresh = zip.getPath("/b.croft");
            String words = "archive";
            refused(() -> Checkpoint.save(inside, STATE), inside, words);
            refused(() -> Checkpoint.save(fresh, STATE), fresh, words);
            refused(() -> Checkpoint.saveAsync(fresh, STATE, OPTIONS), fresh, words);
            refused(() -> CroftFile.open(inside).commit(STATE, OPTIONS), inside, words);
            refused(() -> CroftFile.open(inside).commitAsync(STATE, OPTIONS), inside, words);
            refused(() -> CroftFile.open(inside).compact(_ -> true), inside, words);
            refused(() -> CroftFile.open(path).copy(fresh), fresh, words);
            refused(() -> CroftFile.open(inside).copy(path), inside, words);
            refused(() -> CroftFile.open(path).copyWithBases(fresh), fresh, words);
            refused(() -> Checkpoint.open(inside), inside, words);
            refused(() -> CroftFile.open(inside).salvage(), inside, words);
            refused(() -> ShardSet.open(inside), inside, words);
            try (CroftFile file = CroftFile.open(fresh)) {
                refused(() -> file.commit(STATE, ""), fresh, words);
                refused(() -> file.commitAsync(STATE, ""), fresh, words);
            }
            try (CroftFile file = CroftFile.open(inside)) {
                refused(() -> file.commit(STATE, ""), inside, words);
                refused(file::newest, inside, words);
                refused(file::snapshots, inside, words);
            }
            refused(() -> Checkpoint.save(folder.resolve("c.croft"), STATE, OPTIONS.base(inside)), inside, words);
        }
    }

    @Test
    void aDirectoryThatMayNotBeWrittenIsNamedAndNotTheTemporaryFile() throws IOException {
        assumeTrue(Files.isDirectory(Path.of("/proc/self")), "there is no /proc");
        Path target = Path.of("/proc/self/a.croft");
        assertThatExceptionOfType(FileSystemException.class).isThrownBy(() -> Checkpoint.save(target, STATE))
                .satisfies(e -> assertThat(e.getFile()).isEqualTo(target.toString()))
                .withMessageContaining("nothing can be written in its directory")
                .withMessageNotContaining(".croft-tmp");
    }
}
