package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;
import java.util.Set;
import org.junit.jupiter.api.Test;

/// Blocks of quantized numbers as elements. That the numbers are right is tested with files of the real library.
class BlocksTest {
    private static final DType Q4_0 = DType.blocks("Q4_0");
    private static final DType Q8_0 = DType.blocks("Q8_0");

    /// Two blocks with the scales 1 and 0.5: the numbers -8 to 7, each twice.
    private static Tensor blocks() {
        Tensor blocks = Tensor.zeros(Q4_0, 2);
        String codes = "00112233445566778899aabbccddeeff";
        blocks.bytes().copyFrom(MemorySegment
                .ofArray(HexFormat.of().parseHex("003c" + codes + "0038" + codes)));
        return blocks;
    }

    private static float[] numbers() {
        float[] numbers = new float[64];
        for (int i = 0; i < 64; i++) {
            numbers[i] = (i % 16 - 8) * (i < 32 ? 1 : 0.5f);
        }
        return numbers;
    }

    @Test
    void aTypeOfBlocksIsThatOfItsNameAndWidth() {
        assertThat(Q4_0).isEqualTo(DType.opaque("gguf:Q4_0", 144));
        assertThat(Q4_0.blockSize()).isEqualTo(32);
        assertThat(DType.opaque("gguf:Q4_0", 144).blockSize()).isEqualTo(32);
        assertThat(DType.opaque("gguf:Q4_0", 136).blockSize()).isEqualTo(1);
        assertThat(DType.opaque("gguf:Q4_9", 144).blockSize()).isEqualTo(1);
        assertThat(DType.FLOAT32.blockSize()).isEqualTo(1);
        assertThat(DType.values()).doesNotContain(Q4_0);
        assertThatIllegalArgumentException().isThrownBy(() -> DType.blocks("gguf:Q4_0")).withMessageContaining("Q4_0");
    }

    @Test
    void blocksBecomeNumbersInTheLastDimension() {
        Tensor blocks = blocks();
        assertThat(blocks.toFloatArray()).isEqualTo(numbers());
        assertThat(blocks.to(DType.FLOAT16).toFloatArray()).isEqualTo(numbers());
        assertThat(blocks.view(2, 1).to(DType.FLOAT32).shape()).isEqualTo(Shape.of(2, 32));
        assertThat(blocks.view(1, 2).shapeAs(DType.INT8)).isEqualTo(Shape.of(1, 64));
        assertThat(blocks.shapeAs(Q4_0)).isEqualTo(Shape.of(2));
        assertThat(blocks.select(0, 1).to(DType.FLOAT32).shape()).isEqualTo(Shape.of(32));
        assertThat(blocks.to(Q4_0)).isSameAs(blocks);
        assertThat(Tensor.meta(Q4_0, 3, 2).to(DType.FLOAT32).shape()).isEqualTo(Shape.of(3, 64));
        assertThat(Tensor.zeros(Q4_0, 0).to(DType.FLOAT32).shape()).isEqualTo(Shape.of(0));
    }

    @Test
    void blocksInAnyOrderAreDecodedToATargetInAnyOrder() {
        Tensor turned = blocks().view(1, 2).t();
        assertThat(turned.to(DType.FLOAT32).shape()).isEqualTo(Shape.of(2, 32));
        assertThat(turned.toFloatArray()).isEqualTo(numbers());
        assertThat(blocks().expand(3, 2).to(DType.FLOAT32).select(0, 2).toFloatArray()).isEqualTo(numbers());
        Tensor target = Tensor.zeros(DType.FLOAT64, 64, 1).t();
        assertThat(target.copyFrom(blocks().view(1, 2)).flatten().toFloatArray()).isEqualTo(numbers());
        assertThatIllegalArgumentException().isThrownBy(() -> Tensor.zeros(DType.FLOAT32, 2).copyFrom(blocks()))
                .withMessageContaining("[64]");
    }

    @Test
    void blocksAreDecodedOverThemselves() {
        Storage storage = Storage.allocate(256);
        Tensor blocks = Tensor.of(storage, Q4_0, 0, Shape.of(2)).copyFrom(blocks());
        Tensor target = Tensor.of(storage, DType.FLOAT32, 0, Shape.of(64)).copyFrom(blocks);
        assertThat(target.toFloatArray()).isEqualTo(numbers());
    }

    @Test
    void allSizesAreDecoded() {
        // More than a conversion holds at once, in one thread and in several.
        for (long count : new long[]{63, 64, 65, 1000, 100_001}) {
            Tensor blocks = Tensor.zeros(Q8_0, count);
            blocks.bytes().fill((byte) 1);
            blocks.bytes().set(ValueLayout.JAVA_SHORT_UNALIGNED, 34 * (count - 1), (short) 0x3C00);
            Tensor numbers = blocks.to(DType.FLOAT64);
            float scale = Float.float16ToFloat((short) 0x0101);
            assertThat(numbers.numel()).isEqualTo(32 * count);
            assertThat(numbers.getDouble(0)).isEqualTo(scale);
            assertThat(numbers.getDouble(32 * count - 33)).isEqualTo(scale);
            assertThat(numbers.getDouble(32 * count - 32)).isEqualTo(1);
            assertThat(numbers.getDouble(32 * count - 1)).isEqualTo(1);
        }
    }

    @Test
    void numbersArePrintedAsTheyAreAfterTheConversion() {
        assertThat(blocks().toString(DType.FLOAT32)).isEqualTo(blocks().to(DType.FLOAT32).toString());
        assertThat(blocks().select(0, 0).toString(DType.FLOAT32))
                .isEqualTo(blocks().select(0, 0).to(DType.FLOAT32).toString());
        Tensor many = blocks().expand(100, 2);
        assertThat(many.toString(DType.FLOAT32)).isEqualTo(many.to(DType.FLOAT32).toString());
        assertThat(blocks().toString()).contains("0x", "dtype=torch.gguf:Q4_0");
    }

    @Test
    void whatIsNoConversionOfATensorIsRefused() {
        Tensor blocks = blocks();
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> blocks.getFloat(0))
                .withMessageContaining("blocks of 32 numbers").withMessageContaining("to(DType.FLOAT32)");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> Tensor.zeros(DType.FLOAT32, 32).to(Q4_0)).withMessageContaining("nothing encodes");
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> blocks.to(Q8_0));
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> blocks.to(DType.BITS8));
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> blocks.fill(1));
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> new TypedStorage(blocks.storage(), Q4_0).to(DType.FLOAT32));
        assertThatIllegalArgumentException().isThrownBy(() -> blocks.withFlags(Set.of(Tensor.Flag.NEG)));
    }
}
