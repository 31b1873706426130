package io.undercroft.properties.sets;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Scratch;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ShardSet;
import io.undercroft.serializer.ShardSet.Request;
import io.undercroft.serializer.state.Slice;
import io.undercroft.storage.DType;
import io.undercroft.storage.Device;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/// Any reader of a set of shards sees what the writers had, whatever the layouts of both.
class ShardedLawsTest {
    @Provide
    Arbitrary<ShardedCase> cases() {
        return ShardedCase.any();
    }

    @Property(tries = 150)
    void everyLayoutOfReadersSeesWhatTheWritersHad(@ForAll("cases") ShardedCase layouts) throws IOException {
        try (Scratch scratch = Scratch.make()) {
            layouts.check(scratch);
        }
    }

    /// Of a matrix of 8 MiB in two halves of rows, three readers need some columns each, which overlap.
    @Example
    void ofAFileInAStoreOnlyWhatIsNeededIsReadAndThatOnce() throws IOException {
        try (Scratch scratch = Scratch.make()) {
            Tensor matrix = Tensor.arange(DType.INT64, 1 << 20).view(64, 1 << 14);
            List<Path> shards = new ArrayList<>();
            for (int half = 0; half < 2; half++) {
                shards.add(scratch.file(half + ".croft"));
                Checkpoint.save(shards.getLast(),
                        Map.of("w", Slice.of(matrix.narrow(0, 32L * half, 32), matrix.shape(), 32L * half, 0)));
            }
            Path manifest = scratch.file("all.croftset");
            ShardSet.create(manifest, shards);
            try (ShardSet set = ShardSet.open(CountedStore.uri(manifest))) {
                var _ = CountedStore.reads(scratch.directory());
                List<Request> requests = IntStream.range(0, 3)
                        .mapToObj(i -> new Request("w", new long[]{0, 1024L * i}, Shape.of(64, 2048), Device.CPU))
                        .toList();
                List<Tensor> read = set.tensors(requests);
                for (int i = 0; i < 3; i++) {
                    assertThat(read.get(i).contentEquals(matrix.narrow(1, 1024L * i, 2048))).isTrue();
                }
                long fetched = CountedStore.reads(scratch.directory()).stream().mapToLong(CountedStore.Read::length)
                        .sum();
                // 64 rows of 32 KiB, each in up to three blocks of 16 KiB, and the ends of the two files.
                assertThat(fetched).isBetween(64 * (32L << 10), 64 * (48L << 10) + 2 * (128L << 10));
            }
        }
    }
}
