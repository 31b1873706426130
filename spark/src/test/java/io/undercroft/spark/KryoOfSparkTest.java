package io.undercroft.spark;

import static org.assertj.core.api.Assertions.assertThat;

import com.esotericsoftware.kryo.Kryo;
import com.esotericsoftware.kryo.io.Input;
import com.esotericsoftware.kryo.io.Output;
import io.undercroft.adapters.TensorSerializers;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Tensor;
import io.undercroft.storage.Tensor.Flag;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.KryoRegistrator;
import org.apache.spark.serializer.KryoSerializer;
import org.junit.jupiter.api.Test;

/// Tensors in what Spark sends by its Kryo, which is version 4; `undercroft-adapters` is compiled with version 5.
class KryoOfSparkTest {
    /// As a program names it in `spark.kryo.registrator`.
    public static final class Registrator implements KryoRegistrator {
        @Override
        public void registerClasses(Kryo kryo) {
            TensorSerializers.register(kryo);
        }
    }

    private static Kryo kryo() {
        return new KryoSerializer(new SparkConf(false).set("spark.kryo.registrator", Registrator.class.getName()))
                .newKryo();
    }

    @Test
    void tensorsKeepTheirStorage() {
        Tensor weight = Tensor.of(1f, 2, 3, 4, 5, 6).view(2, 3);
        Tensor ofSlice = Tensor.of(weight.storage().slice(8, 8), DType.FLOAT32, 0, Shape.of(2));
        List<Tensor> sent = new ArrayList<>(
                List.of(weight.t(), weight.withFlags(Set.of(Flag.REQUIRES_GRAD)), ofSlice));
        Output output = new Output(64, -1);
        kryo().writeClassAndObject(output, sent);
        List<?> read = (List<?>) kryo().readClassAndObject(new Input(output.toBytes()));
        Tensor first = (Tensor) read.getFirst();
        assertThat(first.stride()).isEqualTo(weight.t().stride());
        assertThat(first.toFloatArray()).isEqualTo(weight.t().toFloatArray());
        assertThat(((Tensor) read.get(1)).storage()).isSameAs(first.storage());
        assertThat(((Tensor) read.get(1)).is(Flag.REQUIRES_GRAD)).isTrue();
        assertThat(((Tensor) read.get(2)).storage().base()).containsSame(first.storage());
        List<?> copy = kryo().copy(sent);
        assertThat(((Tensor) copy.get(1)).storage()).isSameAs(((Tensor) copy.getFirst()).storage())
                .isNotSameAs(weight.storage());
    }
}
