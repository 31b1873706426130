package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.Choices;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// Views of blocks of quantized numbers have the numbers of the whole tensor at the same places.
class BlockLawsTest {
    private static final List<DType> TYPES = List.of("Q1_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K",
            "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S",
            "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4").stream().map(DType::blocks).toList();

    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(40);
    }

    @Property(tries = 300)
    void theNumbersOfAViewAreThoseOfTheTensor(@ForAll("choices") byte[] bytes) {
        Choices choices = new Choices(bytes);
        DType dtype = choices.of(TYPES);
        int size = dtype.blockSize();
        Tensor blocks = Tensor.zeros(dtype, 1 + choices.below(4), 1 + choices.below(5), 1 + choices.below(9));
        byte[] stored = new byte[(int) blocks.nbytes()];
        new Random(choices.bits()).nextBytes(stored);
        blocks.bytes().copyFrom(MemorySegment.ofArray(stored));
        Tensor numbers = blocks.to(DType.FLOAT32);
        assertThat(numbers.shape()).isEqualTo(blocks.shapeAs(DType.FLOAT32))
                .isEqualTo(Shape.of(blocks.size(0), blocks.size(1), blocks.size(2) * size));
        for (int step = choices.below(4); step > 0; step--) {
            int dim = choices.below(blocks.dim());
            int factor = dim == blocks.dim() - 1 ? size : 1;
            long start = choices.below((int) blocks.size(dim));
            long length = 1L + choices.below((int) (blocks.size(dim) - start));
            if (factor == 1 && choices.yes()) {
                blocks = blocks.select(dim, start);
                numbers = numbers.select(dim, start);
            } else {
                blocks = blocks.narrow(dim, start, length);
                numbers = numbers.narrow(dim, start * factor, length * factor);
            }
        }
        // As arrays, since one NaN may have other bits than another.
        assertThat(blocks.toFloatArray()).isEqualTo(numbers.toFloatArray());
        Tensor halves = Tensor.zeros(DType.FLOAT16, numbers.shape()).copyFrom(blocks);
        assertThat(halves.toFloatArray()).isEqualTo(numbers.to(DType.FLOAT16).toFloatArray());
    }
}
