package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ViewStridesTest {
    static Stream<String> viewsHaveTheStridesOfPyTorch() {
        return TorchCases.lines("views.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void viewsHaveTheStridesOfPyTorch(String answer) {
        String[] parts = answer.split(" ", -1);
        Tensor tensor = Tensor.of(Storage.meta(40_000), DType.FLOAT32, 0, Shape.of(TorchCases.numbers(parts[0])),
                TorchCases.numbers(parts[1]));
        long[] wanted = TorchCases.numbers(parts[2]);
        if (parts[3].equals("refused")) {
            assertThatThrownBy(() -> tensor.view(wanted)).isInstanceOf(IllegalArgumentException.class);
        } else {
            Tensor view = tensor.view(wanted);
            assertThat(view.shape().toArray()).isEqualTo(TorchCases.numbers(parts[3]));
            assertThat(view.stride()).isEqualTo(TorchCases.numbers(parts[4]));
        }
    }

    @Test
    void refusalsSayWhatToDo() {
        Tensor transposed = Tensor.zeros(DType.INT8, 2, 3).transpose(0, 1);
        assertThatThrownBy(() -> transposed.view(6)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("[3, 2]").hasMessageContaining("contiguous()");
        assertThatThrownBy(() -> transposed.view(4)).hasMessage("the shape [4] does not fit 6 elements");
        assertThatThrownBy(() -> transposed.view(-1, 4)).hasMessage("the shape [-1, 4] does not fit 6 elements");
        assertThatThrownBy(() -> transposed.view(-1, -1)).hasMessageContaining("only one size may be -1");
        assertThatThrownBy(() -> Tensor.zeros(DType.INT8, 0).view(-1, 0)).hasMessageContaining("could be anything");
        assertThatThrownBy(() -> transposed.view(-2, -3)).hasMessageContaining("-2");
    }
}
