package io.undercroft.interop.numpy;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.interop.RealPython;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.ExportOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/// Files that go to NumPy and come from it.
class RealNumpyTest {
    @TempDir
    private Path folder;

    @TestFactory
    List<DynamicTest> numpy() {
        RealPython python = RealPython.with("numpy");
        return List.of(
                python.test("numpy.load reads our archives, stored and deflated", this::archivesGoThere),
                python.test("numpy.save and ours write the same bytes", this::arraysAreTheSame),
                python.test("archives of every dtype and order are read", this::archivesComeBack));
    }

    private static Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            if (ElementType.descr(dtype).isPresent()) {
                Tensor numbers = Tensor.arange(DType.FLOAT64, 6).view(2, 3);
                Tensor tensor = dtype.equals(DType.BOOL) ? numbers.eq(numbers) : numbers.to(dtype);
                state.put(dtype.name(), tensor);
                state.put(dtype.name() + "/t", tensor.t());
                state.put(dtype.name() + "/column", tensor.select(1, 2));
                state.put(dtype.name() + "/empty", Tensor.zeros(dtype, 3, 0));
                state.put(dtype.name() + "/scalar", Tensor.zeros(dtype));
            }
        }
        return state;
    }

    private void archivesGoThere(RealPython python) throws IOException {
        Path stored = folder.resolve("a.npz");
        Path deflated = folder.resolve("b.npz");
        Checkpoint.export(stored, state());
        Checkpoint.export(deflated, state(), ExportOptions.defaults().setting("npz.compression", "deflate"));
        assertThat(python.run("""
                import numpy as np, zipfile
                for path in sys.argv[1:]:
                    assert zipfile.ZipFile(path).testzip() is None
                    with np.load(path) as z:
                        for key in z.files:
                            name, _, kind = key.partition('/')
                            a = np.ones((2, 3), bool) if name == 'bool' else np.arange(6).reshape(2, 3).astype(name)
                            want = {'': a, 't': a.T, 'column': a[:, 2], 'empty': np.zeros((3, 0), name),
                                    'scalar': np.zeros((), name)}[kind]
                            got = z[key]
                            assert got.dtype == want.dtype and got.shape == want.shape, (key, got)
                            assert np.array_equal(got, want), (key, got)
                            assert kind != 't' or got.flags.f_contiguous, key
                        print(len(z.files))
                """, stored, deflated)).isEqualToIgnoringWhitespace("70 70");
    }

    private void arraysAreTheSame(RealPython python) throws IOException {
        Path theirs = Files.createDirectories(folder.resolve("theirs"));
        Path ours = Files.createDirectories(folder.resolve("ours"));
        Tensor numbers = Tensor.arange(DType.FLOAT32, 24).view(2, 3, 4);
        Map<String, Tensor> arrays = Map.of("a", numbers, "b", numbers.permute(2, 1, 0), "c", numbers.select(2, 1), "d",
                Tensor.scalar(3L), "e", Tensor.zeros(DType.BOOL, 0, 7), "f", Tensor.arange(DType.INT16, 1000));
        for (Map.Entry<String, Tensor> array : arrays.entrySet()) {
            Checkpoint.export(ours.resolve(array.getKey() + ".npy"), array.getValue());
        }
        python.run("""
                import numpy as np
                a = np.arange(24, dtype='f4').reshape(2, 3, 4)
                for name, array in dict(a=a, b=a.T, c=np.ascontiguousarray(a[:, :, 1]), d=np.array(3),
                                        e=np.zeros((0, 7), bool), f=np.arange(1000, dtype='i2')).items():
                    np.save(sys.argv[1] + '/' + name + '.npy', array)
                """, theirs);
        for (String name : arrays.keySet()) {
            assertThat(ours.resolve(name + ".npy")).as(name)
                    .hasSameBinaryContentAs(theirs.resolve(name + ".npy"));
        }
    }

    private void archivesComeBack(RealPython python) throws IOException {
        Path path = folder.resolve("c.npz");
        python.run("""
                import numpy as np
                arrays = {}
                for name in 'i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16'.split():
                    for order in '<>':
                        a = np.arange(24).reshape(2, 3, 4).astype(order + name)
                        arrays[order + name] = a
                        arrays[order + name + 'F'] = np.asfortranarray(a)
                np.savez_compressed(sys.argv[1], **arrays)
                """, path);
        try (Checkpoint c = Checkpoint.open(path)) {
            assertThat(c.names()).hasSize(52);
            Tensor expected = Tensor.arange(DType.FLOAT64, 24).view(2, 3, 4);
            for (String name : c.names()) {
                assertThat(c.tensor(name).real().to(DType.FLOAT64).contentEquals(expected)).as(name).isTrue();
            }
        }
    }
}
