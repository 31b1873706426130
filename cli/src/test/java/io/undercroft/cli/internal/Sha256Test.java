package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.internal.analysis.ElementBudget;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Sha256Test {
    private static final String OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    private static Sha256 digests() {
        return new Sha256(ElementBudget.ofStored(1 << 20));
    }

    @Test
    void aTransposedTensorIsHashedInRowMajorOrder() throws Exception {
        Tensor tensor = Tensor.of(1f, 2f, 3f, 4f, 5f, 6f).view(2, 3).transpose(0, 1);

        assertThat(digests().of(tensor).digest()).isEqualTo(digests().of(Tensor.of(1f, 4f, 2f, 5f, 3f, 6f)).digest());
    }

    @Test
    void anEmptyTensorIsHashedAsNothing() {
        assertThat(digests().of(Tensor.zeros(DType.FLOAT32, 0, 3)).digest()).isEqualTo(OF_NOTHING);
    }

    @Test
    void aMetaStorageHasNone() {
        Storage storage = Storage.meta(8);

        assertThat(digests().of(storage).digest()).isNull();
        assertThat(digests().of(Tensor.of(storage, DType.FLOAT32, 0, Shape.of(2), 1)).digest()).isNull();
    }

    /// Shapes on both sides of the 16 MiB by which tensors that are not contiguous are copied.
    @ParameterizedTest
    @CsvSource({"5000, 3, 700", "3, 5000, 700", "2, 3, 3000000", "1, 1, 6000000", "4194304, 1, 1", "4194305, 2, 1"})
    void bigTensorsAreHashedPieceByPiece(long a, long b, long c) throws Exception {
        Tensor base = Tensor.zeros(DType.FLOAT32, c, a, b);
        for (long i = 0; i < base.storage().nbytes(); i += 997) {
            base.storage().set(i, (byte) (i >> 3));
        }
        Tensor permuted = base.permute(1, 2, 0);
        MessageDigest expected = MessageDigest.getInstance("SHA-256");
        expected.update(permuted.copy().bytes().asByteBuffer());

        assertThat(digests().of(permuted).digest()).isEqualTo(HexFormat.of().formatHex(expected.digest()));
    }

    @Test
    void elementsThatStartInsideAByteAreHashedAsIfTheyStartedOne() {
        DType nibble = DType.opaque("nibble", 4);
        Tensor inside = Tensor.of(Storage.copyOf((byte) 0x21, (byte) 0x43), nibble, 1, Shape.of(2), 1);
        Tensor alone = Tensor.of(Storage.copyOf((byte) 0x32), nibble, 0, Shape.of(2), 1);

        assertThat(digests().of(inside).digest()).isEqualTo(digests().of(alone).digest())
                .isEqualTo(digests().of(alone.storage()).digest());
    }

    @Test
    void storagesWithTheSameBytesOfAFileAreHashedAndNotKept(@TempDir Path folder) throws IOException {
        Map<String, Tensor> state = new LinkedHashMap<>();
        for (int i = 0; i < 20; i++) {
            state.put("w" + i, Tensor.zeros(DType.FLOAT32, 3, 1000 + i % 2).fill(7));
        }
        Path file = folder.resolve("equal.croft");
        Checkpoint.save(file, state);
        try (Checkpoint checkpoint = Checkpoint.open(file); Sha256 digests = digests()) {
            List<Tensor> columns = checkpoint.tensors().values().stream().map(Tensor::t).toList();
            digests.computeAll(checkpoint.storages(), columns, (_, _) -> {});
            assertThat(digests.of(columns.get(3))).isEqualTo(digests().of(state.get("w3").t()));
            assertThat(digests.refused()).isZero();
            assertThat(checkpoint.storages()).hasSize(20).noneMatch(Storage::isMaterialized);
        }
    }

    @Test
    void elementsThatRepeatForYearsAreNotHashed() {
        assertThat(digests().of(Tensor.of(1f).expand(1L << 40)).digest()).isNull();
        assertThat(digests().of(Tensor.zeros(DType.COMPLEX128, 1).expand(1L << 62)).digest()).isNull();
        assertThat(digests().of(Tensor.of(1f).expand(1L << 20)).digest()).hasSize(64);
    }

    @Test
    void theBudgetIsOneForAllTensors() {
        Sha256 sha256 = new Sha256(ElementBudget.ofStored(0));
        Tensor tensor = Tensor.of(1f);

        assertThat(sha256.of(tensor.expand(40L << 20)).digest()).hasSize(64);
        assertThat(sha256.of(tensor.expand(1, 40L << 20)).digest()).isNull();
        assertThat(sha256.of(tensor.expand(2, 40L << 20)).digest()).as("asked for again").isNull();
        assertThat(sha256.of(tensor).digest()).hasSize(64);
        assertThat(sha256.refused()).isEqualTo(2);
    }

    @Test
    void tensorsOnTheSameBytesAndTheStorageAgree() {
        Tensor tensor = Tensor.of(1f, 2f);
        Sha256 sha256 = digests();

        assertThat(sha256.of(tensor).digest()).isEqualTo(sha256.of(tensor.storage()).digest())
                .isEqualTo(sha256.of(tensor.view(2, 1)).digest());
        assertThat(sha256.of(tensor.select(0, 1)).digest()).isNotEqualTo(sha256.of(tensor).digest());
    }
}
