package io.undercroft.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.EnumSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/// Views of the same bytes as another dtype, as parts of complex numbers, and as conjugates and negatives.
class RetypedViewTest {
    static Stream<String> viewsOfOtherTypesAreThoseOfPyTorch() {
        return TorchCases.lines("retyped.txt").stream();
    }

    @ParameterizedTest
    @MethodSource
    void viewsOfOtherTypesAreThoseOfPyTorch(String answer) {
        String[] parts = answer.split(" ", -1);
        Tensor base = Tensor.of(Storage.meta(4096), DType.of(parts[0]), Long.parseLong(parts[4]),
                Shape.of(TorchCases.numbers(parts[2])), TorchCases.numbers(parts[3]))
                .withFlags(TorchCases.flags(parts[1]));
        if (parts[6].equals("refused")) {
            assertThatThrownBy(() -> view(base, parts[5])).isInstanceOf(IllegalArgumentException.class);
            return;
        }
        Tensor view = view(base, parts[5]);
        assertThat(view.storage()).isSameAs(base.storage());
        assertThat(view.dtype()).isEqualTo(DType.of(parts[6]));
        assertThat(view.flags()).isEqualTo(TorchCases.flags(parts[7]));
        assertThat(view.shape().toArray()).isEqualTo(TorchCases.numbers(parts[8]));
        assertThat(view.stride()).isEqualTo(TorchCases.numbers(parts[9]));
        assertThat(view.storageOffset()).isEqualTo(Long.parseLong(parts[10]));
    }

    private static Tensor view(Tensor base, String name) {
        return switch (name) {
            case "real" -> base.real();
            case "imag" -> base.imag();
            case "viewAsReal" -> base.viewAsReal();
            case "viewAsComplex" -> base.viewAsComplex();
            case "conj" -> base.conj();
            case "neg" -> base.neg();
            default -> base.view(DType.of(name));
        };
    }

    @Test
    void theBytesOfFloatsAreSeenAsIntegers() {
        Tensor floats = Tensor.of(1f, -2f);
        assertThat(floats.view(DType.INT32).toIntArray()).containsExactly(0x3F800000, 0xC0000000);
        assertThat(floats.view(DType.UINT8).shape()).isEqualTo(Shape.of(8));
        floats.view(DType.INT32).setLong(0, 0x40400000);
        assertThat(floats.getFloat(0)).isEqualTo(3f);
    }

    @Test
    void refusalsNameTheNumbers() {
        assertThatThrownBy(() -> Tensor.zeros(DType.UINT8, 2, 6).view(DType.INT32))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("[2, 6]")
                .hasMessageContaining("int32").hasMessageContaining("multiples of 4");
        assertThatThrownBy(() -> Tensor.zeros(DType.UINT8, 2, 6).t().view(DType.INT16))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("stride 1");
        assertThatThrownBy(() -> Tensor.zeros(DType.opaque("wide", 24), 4).view(DType.INT16))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("no multiple");
        assertThatThrownBy(() -> Tensor.zeros(DType.UINT8, 6).view(DType.QUINT4X2))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("quint4x2");
        assertThatThrownBy(() -> Tensor.zeros(DType.INT8, 2).imag()).hasMessageContaining("int8");
        assertThatThrownBy(() -> Tensor.zeros(DType.BOOL, 2).neg()).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void conjAndNegCopyNothing() {
        Tensor stored = Tensor.of(new Complex(1, 2), new Complex(3, -4));
        Tensor conjugates = stored.conj();
        assertThat(conjugates.storage()).isSameAs(stored.storage());
        assertThat(conjugates.is(Tensor.Flag.CONJ)).isTrue();
        assertThat(conjugates.getComplex(1)).isEqualTo(new Complex(3, 4));
        assertThat(conjugates.conj().flags()).isEmpty();
        assertThat(stored.neg().getComplex(0)).isEqualTo(new Complex(-1, -2));
        assertThat(stored.neg().neg().flags()).isEmpty();
        Tensor real = Tensor.of(1f);
        assertThat(real.conj()).isSameAs(real);
        assertThat(real.real()).isSameAs(real);
    }

    @Test
    void resolvedElementsAreStoredAsTheyAreMeant() {
        Tensor stored = Tensor.of(new Complex(1, 2));
        assertThat(stored.resolveConj()).isSameAs(stored);
        assertThat(stored.resolveNeg()).isSameAs(stored);
        Tensor resolved = stored.conj().resolveConj();
        assertThat(resolved.flags()).isEmpty();
        assertThat(resolved.viewAsReal().toDoubleArray()).containsExactly(1, -2);
        assertThat(stored.neg().resolveNeg().viewAsReal().toDoubleArray()).containsExactly(-1, -2);
    }

    @Test
    void partsOfConjugatesAreWhatTheyMean() {
        Tensor conjugates = Tensor.of(new Complex(1, 2), new Complex(3, -4)).conj();
        assertThat(conjugates.real().toDoubleArray()).containsExactly(1, 3);
        assertThat(conjugates.imag().toDoubleArray()).containsExactly(-2, 4);
        assertThat(conjugates.neg().imag().toDoubleArray()).containsExactly(2, -4);
        conjugates.imag().setDouble(0, 7);
        assertThat(conjugates.conj().getComplex(0)).isEqualTo(new Complex(1, -7));
    }

    @Test
    void anotherTypeTakesNoPartInDifferentiation() {
        Tensor tensor = Tensor.of(1f).withFlags(EnumSet.of(Tensor.Flag.REQUIRES_GRAD));
        assertThat(tensor.view(DType.INT32).flags()).isEmpty();
        assertThat(tensor.to(DType.INT32).flags()).isEmpty();
        assertThat(tensor.to(DType.BFLOAT16).flags()).containsExactly(Tensor.Flag.REQUIRES_GRAD);
    }
}
