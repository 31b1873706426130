package io.undercroft.serializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/// A tensor without elements may start anywhere (section 7.6 of `SPEC.md`): what is saved is opened.
class OddOffsetsTest {
    private static final DType SIX_BITS = DType.opaque("float6_e3m2", 6);

    @TempDir
    Path folder;

    private static Map<String, Object> state(DType dtype, long offset) {
        Map<String, Object> state = new LinkedHashMap<>();
        state.put("far", Tensor.of(Storage.allocate(4), dtype, offset, Shape.of(3, 0), 1, 1));
        state.put("good", Tensor.of(1f, 2f));
        return state;
    }

    @ParameterizedTest
    @CsvSource({"float32, 288230376151711744", "float32, 2305843009213693951", "uint8, 9223372036854775807",
            "complex128, 576460752303423487", "float6_e3m2, 9223372036854775807", "float6_e3m2, 3"})
    void anOffsetThatAFileCountsComesBack(String dtype, long offset) throws IOException {
        Path path = folder.resolve("a.croft");
        DType type = dtype.startsWith("float6") ? SIX_BITS : DType.of(dtype);

        Checkpoint.save(path, state(type, offset));

        try (Checkpoint opened = Checkpoint.open(path)) {
            assertThat(opened.names()).containsExactly("far", "good");
            assertThat(opened.tensor("far").storageOffset()).isEqualTo(offset);
            assertThat(opened.tensor("good").toFloatArray()).containsExactly(1, 2);
            assertThat(opened.verify().damages()).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"float32, 2305843009213693952", "float32, 9223372036854775807", "complex128, 576460752303423488"})
    void anOffsetThatNoFileCountsIsRefusedByPath(String dtype, long offset) {
        assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.croft"), state(DType.of(dtype), offset)))
                .isInstanceOf(IllegalArgumentException.class)
                .message().contains("'far'").contains("element " + offset, "give it an offset of 0");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void moreOnTheMetaDeviceThanReadersTakeIsRefusedByPath() {
        for (long nbytes : new long[]{(1L << 46) + 1, 1L << 60, Long.MAX_VALUE}) {
            assertThatThrownBy(() -> Checkpoint.save(folder.resolve("a.croft"),
                    Map.of("model", Map.of("huge", Tensor.meta(DType.UINT8, nbytes)))))
                    .isInstanceOf(IllegalArgumentException.class).message().contains("'model/huge'", "meta device");
        }
        assertThat(folder).isEmptyDirectory();
    }
}
