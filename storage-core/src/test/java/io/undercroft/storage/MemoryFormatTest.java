package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MemoryFormatTest {
    static Stream<String> tensorsLieInTheFormatsThatPyTorchSays() {
        return TorchCases.lines("formats.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void tensorsLieInTheFormatsThatPyTorchSays(String answer) {
        String[] parts = answer.split(" ", -1);
        Tensor tensor = Tensor.of(Storage.meta(4096), DType.FLOAT32, 0, Shape.of(TorchCases.numbers(parts[0])),
                TorchCases.numbers(parts[1]));
        MemoryFormat format = MemoryFormat.valueOf(parts[2]);
        assertThat(tensor.isContiguous(format)).isEqualTo(parts[3].equals("True"));
        if (parts[4].equals("refused")) {
            assertThatThrownBy(() -> tensor.contiguous(format)).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(tensor.shape().toString());
        } else {
            assertThat(tensor.contiguous(format).stride()).isEqualTo(TorchCases.numbers(parts[4]));
        }
    }

    @Test
    void channelsLastKeepsShapeAndElements() {
        Tensor images = Tensor.arange(DType.INT64, 120).view(2, 3, 4, 5);
        Tensor turned = images.contiguous(MemoryFormat.CHANNELS_LAST);
        assertThat(turned.stride()).containsExactly(60, 1, 15, 3);
        assertThat(turned.isContiguous()).isFalse();
        assertThat(turned.equal(images)).isTrue();
        assertThat(turned.storage()).isNotSameAs(images.storage());
        assertThat(turned.storage().nbytes()).isEqualTo(960);
        assertThat(turned.contiguous(MemoryFormat.CHANNELS_LAST)).isSameAs(turned);
        assertThat(turned.copy().isContiguous()).isTrue();
        assertThat(turned.copy(MemoryFormat.CHANNELS_LAST).equal(images)).isTrue();
    }

    @Test
    void volumesHaveAFormatOfTheirOwn() {
        Tensor volumes = Tensor.arange(DType.FLOAT32, 720).view(2, 3, 4, 5, 6);
        Tensor turned = volumes.contiguous(MemoryFormat.CHANNELS_LAST_3D);
        assertThat(turned.stride()).containsExactly(360, 1, 90, 18, 3);
        assertThat(turned.equal(volumes)).isTrue();
    }

    @Test
    void negatedElementsAreNotWhatIsStored() {
        Tensor negated = Tensor.ones(DType.FLOAT32, 1, 2, 1, 1).neg();
        assertThat(negated.contiguous(MemoryFormat.CHANNELS_LAST).toFloatArray()).containsExactly(-1, -1);
        assertThat(negated.contiguous(MemoryFormat.CHANNELS_LAST).flags()).isEmpty();
    }
}
