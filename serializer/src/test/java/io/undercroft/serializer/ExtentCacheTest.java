package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.format.FormatException;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
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
            return files.filter(Files::isRegularFile).filter(file -> !file.endsWith("lock")).toList();
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
    void aDirectoryThatCannotBeWrittenToIsNoFailure() throws IOException {
        Files.writeString(cache, "a file");

        assertThat(bytesToOpen("a.croft", opening())).isGreaterThan(weight.nbytes());
        assertThatThrownBy(() -> bytesToOpen("a.croft", opening().setting("croft.cacheMiB", "many")))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("croft.cacheMiB");
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
