package io.undercroft.serializer.internal.loading;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.mmap.MapMode;
import io.undercroft.mmap.MappedFile;
import io.undercroft.mmap.Piece.FilePiece;
import io.undercroft.storage.Storage;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StoreBatchTest {
    private static final int MEBIBYTE = 1 << 20;
    private static final int SIZE = 100;

    @TempDir
    Path directory;

    private static StoreBatch.Plan plan(List<List<FilePiece>> runs) {
        List<Storage> storages = runs.stream().map(_ -> Storage.allocate(1)).toList();
        return StoreBatch.plan(storages, storage -> runs.get(storages.indexOf(storage)));
    }

    /// Each storage consists of the same 4 KiB, very often.
    @Test
    void bytesThatManyBatchesHaveAreListedOnce() throws IOException {
        Path path = Files.write(directory.resolve("a"), new byte[4096]);
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            StoreBatch.Plan plan = plan(Collections.nCopies(50, Collections.nCopies(2048, file.piece(0, 4096))));

            assertThat(plan.batches()).hasSize(50);
            assertThat(plan.common()).singleElement().matches(run -> run.offset() == 0 && run.length() == 4096);
        }
    }

    @Test
    void exactlyTheBytesThatSeveralBatchesHaveAreCommon() throws IOException {
        Random random = new Random(1);
        Path path = directory.resolve("a");
        try (var channel = Files.newByteChannel(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            channel.position((long) SIZE * MEBIBYTE - 1).write(ByteBuffer.allocate(1));
        }
        try (MappedFile file = MappedFile.open(path, MapMode.READ_ONLY)) {
            for (int round = 0; round < 1000; round++) {
                StoreBatch.Plan plan = plan(IntStream.range(0, random.nextInt(12))
                        .mapToObj(_ -> {
                            int start = random.nextInt(SIZE - 7);
                            return List.of(file.piece((long) start * MEBIBYTE, (1 + random.nextLong(7)) * MEBIBYTE));
                        }).toList());

                int[] owners = new int[SIZE];
                Arrays.fill(owners, -1);
                BitSet expected = new BitSet();
                for (int number = 0; number < plan.batches().size(); number++) {
                    for (FilePiece run : plan.batches().get(number).runs()) {
                        for (int at : places(run)) {
                            if (owners[at] >= 0 && owners[at] != number) {
                                expected.set(at);
                            }
                            owners[at] = number;
                        }
                    }
                }
                BitSet common = new BitSet();
                plan.common().forEach(run -> Arrays.stream(places(run)).forEach(common::set));
                assertThat(common).as("round %d: %s", round, plan.batches()).isEqualTo(expected);
            }
        }
    }

    private static int[] places(FilePiece run) {
        return IntStream.range((int) (run.offset() / MEBIBYTE), (int) ((run.offset() + run.length()) / MEBIBYTE))
                .toArray();
    }
}
