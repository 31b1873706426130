package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Random chains of views and copies: sizes, strides, offsets, elements and refusals are those of PyTorch.
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

    static Stream<String> chainsThatCopyEndWithTheElementsOfPyTorch() {
        return TorchCases.lines("contents.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void chainsThatCopyEndWithTheElementsOfPyTorch(String answer) {
        List<String> parts = Arrays.asList(answer.split(" ", -1));
        long[] sizes = TorchCases.numbers(parts.getFirst());
        Tensor base = Tensor.arange(DType.INT64, Shape.of(sizes).numel()).view(sizes);
        if (parts.getLast().equals("refused")) {
            assertThatThrownBy(() -> walk(base, parts.subList(1, parts.size() - 1)))
                    .isInstanceOfAny(IllegalArgumentException.class, IndexOutOfBoundsException.class);
            return;
        }
        Tensor end = walk(base, parts.subList(1, parts.size() - 2));
        assertThat(end.shape().toArray()).isEqualTo(TorchCases.numbers(parts.get(parts.size() - 2)));
        assertThat(end.toLongArray()).isEqualTo(TorchCases.numbers(parts.getLast()));
    }

    private static Tensor walk(Tensor tensor, List<String> steps) {
        Tensor current = tensor;
        for (String step : steps) {
            current = step(current, step.substring(0, step.indexOf(':')),
                    TorchCases.numbers(step.substring(step.indexOf(':') + 1)));
        }
        return current;
    }

    private static Tensor step(Tensor tensor, String name, long[] n) {
        return switch (name) {
            case "select" -> tensor.select((int) n[0], n[1]);
            case "narrow" -> tensor.narrow((int) n[0], n[1], n[2]);
            case "slice" -> tensor.slice((int) n[0], n[1], n[2], n[3]);
            case "transpose" -> tensor.transpose((int) n[0], (int) n[1]);
            case "permute" -> tensor.permute(ints(n));
            case "movedim" -> tensor.movedim((int) n[0], (int) n[1]);
            case "t" -> tensor.t();
            case "expand" -> tensor.expand(n);
            case "squeeze" -> tensor.squeeze();
            case "squeeze_dims" -> tensor.squeeze(ints(n));
            case "unsqueeze" -> tensor.unsqueeze((int) n[0]);
            case "unfold" -> tensor.unfold((int) n[0], n[1], n[2]);
            case "diagonal" -> tensor.diagonal(n[0], (int) n[1], (int) n[2]);
            case "flatten_view" -> tensor.view(n);
            case "flatten" -> tensor.flatten((int) n[0], (int) n[1]);
            case "reshape" -> tensor.reshape(n);
            default -> throw new AssertionError(name);
        };
    }

    private static int[] ints(long[] numbers) {
        return LongStream.of(numbers).mapToInt(Math::toIntExact).toArray();
    }
}
