package io.undercroft.properties.tensors;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.properties.ChainModel;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.state.ActionChain;
import org.jspecify.annotations.Nullable;

/// Views of quantized blocks have the numbers of the whole tensor at the same places.
class BlockLawsTest {
    private static final List<DType> TYPES = List.of("Q1_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K",
            "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S",
            "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4").stream().map(DType::blocks).toList();

    /// A view of blocks, and the same view of their numbers.
    private static final class Blocks extends ChainModel {
        private @Nullable Tensor blocks;
        private @Nullable Tensor numbers;

        private void start() {
            DType dtype = choices().of(TYPES);
            Shape shape = Shape.of(1 + choices().below(4), 1 + choices().below(5), 1 + choices().below(9));
            int seed = choices().below(1000);
            Tensor made = Tensor.zeros(dtype, shape);
            byte[] stored = new byte[(int) made.nbytes()];
            new Random(seed).nextBytes(stored);
            made.bytes().copyFrom(MemorySegment.ofArray(stored));
            program().note("// " + dtype + " " + shape + " with the bytes of new Random(" + seed + ")");
            set(made, made.to(DType.FLOAT32));
            assertThat(numbers.shape()).isEqualTo(made.shapeAs(DType.FLOAT32))
                    .isEqualTo(Shape.of(made.size(0), made.size(1), made.size(2) * dtype.blockSize()));
        }

        private void set(Tensor ofBlocks, Tensor ofNumbers) {
            blocks = ofBlocks;
            numbers = ofNumbers;
        }

        void narrow() {
            if (blocks == null) {
                start();
            }
            int dim = choices().below(blocks.dim());
            long start = choices().below((int) blocks.size(dim));
            long length = 1L + choices().below((int) (blocks.size(dim) - start));
            long factor = dim == blocks.dim() - 1 ? blocks.dtype().blockSize() : 1;
            program().line("blocks = blocks.narrow(" + dim + ", " + start + ", " + length + ")");
            set(blocks.narrow(dim, start, length), numbers.narrow(dim, start * factor, length * factor));
        }

        /// Of any dimension but the last one.
        void select() {
            if (blocks == null) {
                start();
            }
            if (blocks.dim() > 1) {
                int dim = choices().below(blocks.dim() - 1);
                long index = choices().below((int) blocks.size(dim));
                program().line("blocks = blocks.select(" + dim + ", " + index + ")");
                set(blocks.select(dim, index), numbers.select(dim, index));
            }
        }

        void check() {
            if (blocks != null) {
                // As arrays, since one NaN may have other bits than another.
                assertThat(blocks.toFloatArray()).isEqualTo(numbers.toFloatArray());
                Tensor halves = Tensor.zeros(DType.FLOAT16, numbers.shape()).copyFrom(blocks);
                assertThat(halves.toFloatArray()).isEqualTo(numbers.to(DType.FLOAT16).toFloatArray());
            }
        }
    }

    @Provide
    Arbitrary<ActionChain<Blocks>> views() {
        return ActionChain.startWith(Blocks::new).withAction(2, ChainModel.action(Blocks::narrow))
                .withAction(ChainModel.action(Blocks::select)).withMaxTransformations(3);
    }

    @Property(tries = 300)
    void theNumbersOfAViewAreThoseOfTheTensor(@ForAll("views") ActionChain<Blocks> chain) throws IOException {
        ChainModel.run(chain, Blocks::check);
    }
}
