package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import io.undercroft.testsupport.Commands;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class ExtentCacheTest {
    private static final long INDEX = 200_000;

    @TempDir
    Path folder;

    private final Tensor weight = Tensor.arange(DType.INT32, 3_000_001);
    private Path cache;

    @BeforeEach
    void save() throws IOException {
        cache = folder.resolve("cache");
        Checkpoint.save(folder.resolve("a.croft"), Map.of("weight", weight));
    }

    private OpenOptions opening() {
        return OpenOptions.defaults().setting("croft.cache", cache.toString());
    }

    private long bytesToOpen(String file, OpenOptions options) throws IOException {
        long before = FolderStore.bytesRead(folder);
        try (Checkpoint opened = Checkpoint.open(FolderStore.uri(folder.resolve(file)), options)) {
            assertThat(opened.tensor("weight").contentEquals(weight)).isTrue();
        }
        return FolderStore.bytesRead(folder) - before;
    }

    private List<Path> entries() throws IOException {
        try (Stream<Path> files = Files.walk(cache)) {
            return files.filter(Files::isRegularFile).filter(file -> !file.endsWith("croft-cache")).toList();
        }
    }

    @Test
    void bytesAreFetchedOnceHoweverManyFilesHaveThem() throws IOException {
        Checkpoint.save(folder.resolve("b.croft"), Map.of("weight", weight, "step", Tensor.ones(DType.INT32, 9)));

        assertThat(bytesToOpen("a.croft", opening())).isGreaterThan(weight.nbytes());
        assertThat(bytesToOpen("a.croft", opening())).isLessThan(INDEX);
        assertThat(bytesToOpen("b.croft", opening())).isLessThan(INDEX);
        assertThat(bytesToOpen("b.croft", opening().inMemory())).isLessThan(INDEX);
        assertThat(entries()).allMatch(file -> !file.toString().endsWith(".part"));
    }

    @Test
    void nothingIsKeptWithoutADirectory() throws IOException {
        assertThat(bytesToOpen("a.croft", OpenOptions.defaults())).isGreaterThan(weight.nbytes());
        assertThat(bytesToOpen("a.croft", OpenOptions.defaults())).isGreaterThan(weight.nbytes());
        assertThat(cache).doesNotExist();
    }

    @Test
    void anEntryThatWasChangedOrCutIsFetchedAgain() throws IOException {
        bytesToOpen("a.croft", opening());
        byte[] changed = Files.readAllBytes(entries().getFirst());
        changed[77]++;
        Files.write(entries().getFirst(), changed);
        Files.write(entries().getLast(), new byte[3]);

        long fetched = bytesToOpen("a.croft", opening());

        assertThat(fetched).isGreaterThan(1 << 20).isLessThan((3 << 20) + INDEX);
        assertThat(bytesToOpen("a.croft", opening())).isLessThan(INDEX);
    }

    @Test
    void theDirectoryHasALimitAndKeepsWhatWasUsedLast() throws IOException {
        OpenOptions limited = opening().setting("croft.cacheMiB", "32");
        for (int i = 0; i < 5; i++) {
            String name = "of" + i + ".croft";
            Tensor each = Tensor.arange(DType.INT64, i << 24, (i << 24) + (1 << 20), 1);
            Checkpoint.save(folder.resolve(name), Map.of("weight", each));
            try (Checkpoint opened = Checkpoint.open(FolderStore.uri(folder.resolve(name)), limited)) {
                assertThat(opened.tensor("weight").contentEquals(each)).isTrue();
            }
            bytesToOpen("a.croft", limited);
        }

        long total = 0;
        for (Path file : entries()) {
            total += Files.size(file);
        }
        assertThat(total).isBetween(20L << 20, 32L << 20);
        assertThat(bytesToOpen("a.croft", limited)).isLessThan(INDEX);
    }

    @Test
    void aDirectoryThatCannotBeMadeIsNoFailure() throws IOException {
        cache = Files.writeString(folder.resolve("file"), "a file").resolve("cache");

        assertThat(bytesToOpen("a.croft", opening())).isGreaterThan(weight.nbytes());
        assertThatThrownBy(() -> bytesToOpen("a.croft", opening().setting("croft.cacheMiB", "many")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("croft.cacheMiB");
    }

    @Test
    void aDirectoryOfOtherFilesIsRefusedAndStaysAsItIs() throws IOException {
        Path model = Files.createDirectories(cache.resolve("ab")).resolve("0".repeat(32) + "-1-4");
        Files.writeString(model, "precious");
        Path file = Files.writeString(folder.resolve("file"), "precious");

        assertThatThrownBy(() -> bytesToOpen("a.croft", opening())).isInstanceOf(FileSystemException.class)
                .hasMessageContainingAll(cache.toString(), "croft-cache", "croft.cache to an empty or new directory");
        cache = file;
        assertThatThrownBy(() -> bytesToOpen("a.croft", opening())).isInstanceOf(FileSystemException.class)
                .hasMessageContaining(file.toString());
        assertThat(model).hasContent("precious");
        assertThat(file).hasContent("precious");
    }

    /// Entries and temporary files of before the clock was set back a year are the first that are deleted.
    @Test
    void aClockThatWasSetBackKeepsNothingForEver() throws IOException {
        OpenOptions limited = opening().setting("croft.cacheMiB", "32");
        bytesToOpen("a.croft", limited);
        FileTime later = FileTime.from(Instant.now().plus(Duration.ofDays(365)));
        List<Path> before = entries();
        for (Path each : before) {
            Files.setLastModifiedTime(each, later);
        }
        Path left = Files.writeString(cache.resolve(UUID.randomUUID() + ".part"), "left");
        Files.setLastModifiedTime(left, later);

        for (int i = 0; i < 5; i++) {
            Path file = folder.resolve("of" + i + ".croft");
            Tensor each = Tensor.arange(DType.INT64, i << 24, (i << 24) + (1 << 20), 1);
            Checkpoint.save(file, Map.of("weight", each));
            try (Checkpoint opened = Checkpoint.open(FolderStore.uri(file), limited)) {
                assertThat(opened.tensor("weight").contentEquals(each)).isTrue();
            }
        }

        assertThat(before).isNotEmpty().noneMatch(Files::exists);
        assertThat(left).doesNotExist();
    }

    @Test
    void onlyFilesThatTheCacheMadeAreCountedAndDeleted() throws IOException {
        OpenOptions limited = opening().setting("croft.cacheMiB", "32");
        bytesToOpen("a.croft", limited);
        List<Path> made = entries();
        Path entry = made.getFirst();
        FileTime old = FileTime.from(Instant.EPOCH);
        String name = entry.getFileName().toString();
        Path other = Files.createDirectories(folder.resolve("other"));
        List<Path> others = new ArrayList<>();
        for (Path each : List.of(cache.resolve("model.safetensors"), cache.resolve("download.part"),
                cache.resolve(name),
                entry.resolveSibling("model.bin"), Files.createDirectories(cache.resolve("docs")).resolve(name),
                other.resolve(name))) {
            try (FileChannel channel = FileChannel.open(each, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
                channel.write(ByteBuffer.wrap(new byte[1]), 1L << 30);
            }
            Files.setLastModifiedTime(each, old);
            others.add(each);
        }
        others.add(Files.createSymbolicLink(cache.resolve(name.startsWith("00") ? "01" : "00"), other));
        others.add(Files.createSymbolicLink(entry.resolveSibling(name.substring(0, 32) + "-0-9"), others.getFirst()));
        Path left = Files.writeString(cache.resolve(UUID.randomUUID() + ".part"), "left");
        Files.setLastModifiedTime(left, old);

        Tensor large = Tensor.arange(DType.INT64, 1 << 21);
        Checkpoint.save(folder.resolve("b.croft"), Map.of("weight", large));
        try (Checkpoint opened = Checkpoint.open(FolderStore.uri(folder.resolve("b.croft")), limited)) {
            assertThat(opened.tensor("weight").contentEquals(large)).isTrue();
        }

        assertThat(others).allMatch(each -> Files.exists(each, LinkOption.NOFOLLOW_LINKS));
        assertThat(made).allMatch(Files::exists);
        assertThat(left).doesNotExist();
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    @Timeout(value = 5, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void aPipeALinkOrADirectoryThatHasTheNameOfAnEntryIsNotRead() throws Exception {
        bytesToOpen("a.croft", opening());
        List<Path> made = entries();
        Path victim = Files.writeString(folder.resolve("victim"), "precious");
        for (int i = 0; i < made.size(); i++) {
            Files.delete(made.get(i));
            switch (i % 3) {
                case 0 -> Commands.makePipe(made.get(i));
                case 1 -> Files.createSymbolicLink(made.get(i), victim);
                default -> Files.createDirectory(made.get(i));
            }
        }

        assertThat(made).hasSizeGreaterThan(2);
        assertThat(bytesToOpen("a.croft", opening())).isGreaterThan(weight.nbytes());
        assertThat(victim).hasContent("precious");
        assertThat(made).allMatch(each -> Files.exists(each, LinkOption.NOFOLLOW_LINKS))
                .noneMatch(each -> Files.isRegularFile(each, LinkOption.NOFOLLOW_LINKS));
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void onlyTheUserThatFetchedBytesCanReadThemInTheCache() throws IOException {
        bytesToOpen("a.croft", opening());

        for (Path entry : entries()) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(entry))).isEqualTo("rw-------");
        }
    }

    @Test
    void bytesThatWereDamagedInTheStoreOrOnTheWayAreRefused() throws IOException {
        byte[] bytes = Files.readAllBytes(folder.resolve("a.croft"));
        bytes[6 << 20]++;
        Files.write(folder.resolve("a.croft"), bytes);

        try (Checkpoint opened = Checkpoint.open(FolderStore.uri(folder.resolve("a.croft")))) {
            Tensor damaged = opened.tensor("weight");
            assertThatThrownBy(() -> damaged.getInt(0)).isInstanceOf(FormatException.class)
                    .hasMessageContaining("damaged");
        }
    }
}
