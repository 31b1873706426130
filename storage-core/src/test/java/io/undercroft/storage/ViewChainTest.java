package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Random chains of views: sizes, strides, offsets and refusals are those of PyTorch.
class ViewChainTest {
    static Stream<String> chainsOfViewsEndWhereThoseOfPyTorchEnd() {
        return TorchCases.lines("chains.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void chainsOfViewsEndWhereThoseOfPyTorchEnd(String answer) {
        List<String> parts = Arrays.asList(answer.split(" ", -1));
        Tensor base = Tensor.zeros(DType.UINT8, TorchCases.numbers(parts.getFirst()));
        if (parts.getLast().equals("refused")) {
            assertThatThrownBy(() -> walk(base, parts.subList(1, parts.size() - 1)))
                    .isInstanceOfAny(IllegalArgumentException.class, IndexOutOfBoundsException.class);
            return;
        }
        Tensor end = walk(base, parts.subList(1, parts.size() - 3));
        assertThat(end.storage()).isSameAs(base.storage());
        assertThat(end.shape().toArray()).isEqualTo(TorchCases.numbers(parts.get(parts.size() - 3)));
        assertThat(end.stride()).isEqualTo(TorchCases.numbers(parts.get(parts.size() - 2)));
        assertThat(end.storageOffset()).isEqualTo(Long.parseLong(parts.getLast()));
    }

    private static Tensor walk(Tensor tensor, List<String> steps) {
        Tensor current = tensor;
        for (String step : steps) {
            current = step(current, step.substring(0, step.indexOf(':')),
                    TorchCases.numbers(step.substring(step.indexOf(':') + 1)));
        }
        return current;
    }

    private static Tensor step(Tensor tensor, String name, long[] arguments) {
        return switch (name) {
            case "select" -> tensor.select((int) arguments[0], arguments[1]);
            case "narrow" -> tensor.narrow((int) arguments[0], arguments[1], arguments[2]);
            case "transpose" -> tensor.transpose((int) arguments[0], (int) arguments[1]);
            case "permute" -> tensor.permute(LongStream.of(arguments).mapToInt(Math::toIntExact).toArray());
            case "expand" -> tensor.expand(arguments);
            default -> throw new AssertionError(name);
        };
    }
}
