package io.undercroft.interop.numpy;

import static org.assertj.core.api.Assertions.assertThat;

import io.undercroft.format.FormatException;
import io.undercroft.interop.RealPython;
import io.undercroft.interop.internal.numpy.NumpyType;
import io.undercroft.serializer.Checkpoint;
import io.undercroft.serializer.OpenOptions;
import io.undercroft.serializer.SaveOptions;
import io.undercroft.storage.DType;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
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
                python.test("archives of every dtype and order are read", this::archivesComeBack),
                python.test("numpy.load reads the same from every header that is taken here",
                        this::headersMeanTheSame),
                python.test("numpy.load ignores what follows an array, and refuses a checksum of 0", this::unusualEnds),
                python.test("every name of a type that numpy.load takes means the same here", this::namesMeanTheSame),
                python.test("numpy.load opens the archives with a comment or a rest that open here",
                        this::endsOfArchivesMeanTheSame),
                python.test("numpy.load reads the same from random arrays of all types, and from ours of them",
                        this::randomArraysComeBack));
    }

    /// Each name alone, and with each byte order, size and unit, in a header; and what `numpy.save` makes of the array.
    private void namesMeanTheSame(RealPython python) throws IOException {
        String taken = python.run("""
                import numpy as np, io, struct
                names = {name for name in np.sctypeDict if isinstance(name, str)} | set(np.typecodes['All'])
                names |= {'str', 'bytes', 'int', 'float', 'complex', 'bool', 'unicode', 'a', 'c', 'N', 'n'}
                names |= {kind + str(size) for kind in 'biufcSUVaMm?dlhBHILQqpPeFDgG'
                          for size in (1, 2, 4, 5, 8, 12, 16, 24, 32)}
                names |= {name + '[' + unit + ']' for name in ('M8', 'm8', 'datetime64', 'timedelta64', 'M', 'f8')
                          for unit in 'Y M W D h m s ms us ns ps fs as 25s 7D generic'.split()}
                names |= {order + name for order in '<>=|' for name in names}
                names |= {'f4,i4', '<f4,>i4', 'f4, i4', 'f4,(2,)i4', '2i4,3f8', 'f4,f4,f4', 'i4,', 'S3,U2',
                          'float32,int8', 'M8[s],m8', 'b1,?', '|u1,>f4', '(2,2)M8[s],f4', '|b1,1i4', 'U3,'}
                names |= {name + '[' + count + unit + '/' + part + ']' for name in ('M8', 'm8', '>M8', 'datetime64')
                          for count in ('', '3') for unit in 'Y M W D h m s ms us ns ps fs as'.split()
                          for part in '1 2 5 7 12 24 30 52 73 60 365 500 720 1000 3600 60000 86400 1000000'.split()}
                names |= {'M8[\u03bcs]', 'm8[25\u03bcs]', 'M8[\u03bcs/4]', '>M8[\u03bcs]'}
                names |= {before + name for name in ('f4', '>i4', '<f8', 'S5', 'U2', 'int32', 'M8[s]', 'V3', '?')
                          for before in ('()', '1', '(1,)', '(1, 1)', '1 ', '() ', '<', '>()', '|1', '2', '(2,)')}
                names |= {kind + ' ' * spaces + size for kind in 'biufcSUVa' for size in '1248' for spaces in (1, 3)}
                for number, name in enumerate(sorted(names)):
                    header = "{'descr': %r, 'fortran_order': False, 'shape': (2,), }" % name
                    version = (1, '<H') if header.isascii() else (3, '<I')
                    try:
                        size = 2 * np.dtype(name).itemsize
                        data = bytes(i % 2 for i in range(size)) if np.dtype(name).kind != 'U' else bytes(size)
                        text = header.encode()
                        file = b'\\x93NUMPY' + bytes((version[0], 0)) + struct.pack(version[1], len(text)) + text + data
                        array = np.load(io.BytesIO(file))
                    except (TypeError, ValueError):
                        continue
                    if '[0Y]' in array.dtype.str:  # a division by what is no part of a week
                        continue
                    if array.dtype.str == '|V0' or name[0] in '<>' and array.dtype.kind == 'V' and ',' not in name:
                        continue
                    open(sys.argv[1] + f'/{number}.npy', 'wb').write(file)
                    np.save(sys.argv[1] + f'/{number}.theirs.npy', array)
                    print(number, name)
                """, folder);
        List<String> names = taken.lines().toList();
        assertThat(names).hasSizeGreaterThan(400);
        for (String name : names) {
            String number = name.substring(0, name.indexOf(' '));
            List<byte[]> written = new ArrayList<>();
            for (String suffix : List.of(".npy", ".theirs.npy")) {
                Path copy = folder.resolve("copy.npy");
                try (Checkpoint c = Checkpoint.open(folder.resolve(number + suffix))) {
                    Checkpoint.save(copy, c.state());
                }
                written.add(Files.readAllBytes(copy));
            }
            assertThat(written.get(0)).as(name).isEqualTo(written.get(1));
        }
    }

    /// Lengths of a comment and of what is really there, of archives with and without a Zip64 record.
    private void endsOfArchivesMeanTheSame(RealPython python) throws IOException {
        String opened = python.run("""
                import numpy as np, struct, zipfile, warnings
                warnings.simplefilter('ignore')
                for zip64 in (False, True):
                    plain = sys.argv[1] + '/plain.npz'
                    if zip64:
                        zipfile.ZIP_FILECOUNT_LIMIT = 0
                    np.savez(plain, a=np.arange(3))
                    data = open(plain, 'rb').read()
                    assert (b'PK\\x06\\x06' in data) == zip64
                    for comment in (0, 1, 5, 40, 65535):
                        for rest in (0, 1, 5, 6, 30, 40, 41, 65535, 65536, 65537):
                            for mark in (b'', b'PK\\x05\\x06', data[-22:]):
                                if len(mark) > rest:
                                    continue
                                path = sys.argv[1] + f'/{zip64}-{comment}-{rest}-{len(mark)}.npz'
                                open(path, 'wb').write(data[:-2] + struct.pack('<H', comment) + mark
                                                       + bytes(rest - len(mark)))
                                try:
                                    assert np.load(path)['a'].tolist() == [0, 1, 2]
                                    print(path)
                                except (zipfile.BadZipFile, KeyError):
                                    pass
                """, folder);
        List<String> files = opened.lines().toList();
        assertThat(files).hasSizeGreaterThan(80);
        for (String file : files) {
            try (Checkpoint c = Checkpoint.open(Path.of(file))) {
                assertThat(c.tensor("a").toLongArray()).as(file).containsExactly(0, 1, 2);
            }
        }
    }

    /// What is decided in `docs/formats.md` by what NumPy does.
    private void unusualEnds(RealPython python) throws IOException {
        python.run("""
                import numpy as np, zipfile, struct
                folder = sys.argv[1]
                np.save(folder + '/a.npy', np.arange(3))
                with open(folder + '/a.npy', 'ab') as f:
                    f.write(b'x')
                assert np.load(folder + '/a.npy').tolist() == [0, 1, 2]
                np.savez(folder + '/a.npz', a=np.arange(3))
                data = bytearray(open(folder + '/a.npz', 'rb').read())
                at = data.index(b'PK\\x01\\x02')
                data[at + 16:at + 20] = bytes(4)
                open(folder + '/a.npz', 'wb').write(data)
                try:
                    np.load(folder + '/a.npz')['a']
                    assert False
                except zipfile.BadZipFile:
                    pass
                """, folder);
        try (Checkpoint c = Checkpoint.open(folder.resolve("a.npy"))) {
            assertThat(c.tensor("").toLongArray()).containsExactly(0, 1, 2);
        }
        try (Checkpoint c = Checkpoint.open(folder.resolve("a.npz"))) {
            assertThat(c.verify().damages()).hasSize(1);
        }
    }

    private static Map<String, Object> state() {
        Map<String, Object> state = new LinkedHashMap<>();
        for (DType dtype : DType.values()) {
            if (NumpyType.of(dtype).isPresent()) {
                Tensor numbers = Tensor.arange(DType.FLOAT64, 6).view(2, 3);
                Tensor tensor = numbers.to(dtype);
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
        Checkpoint.save(stored, state());
        Checkpoint.save(deflated, state(), SaveOptions.defaults().setting("npz.compression", "deflate"));
        assertThat(python.run("""
                import numpy as np, zipfile
                for path in sys.argv[1:]:
                    assert zipfile.ZipFile(path).testzip() is None
                    with np.load(path) as z:
                        for key in z.files:
                            name, _, kind = key.partition('/')
                            a = np.arange(6).reshape(2, 3).astype(name)
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
            Checkpoint.save(ours.resolve(array.getKey() + ".npy"), array.getValue());
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

    /// Headers some of whose tokens were left out, doubled, or took the place of others.
    private void headersMeanTheSame(RealPython python) throws IOException {
        List<String> tokens = List.of("'|u1'", "'>i2'", "'<f4'", "'<c8'", "'>f8'", "'|b1'", "'i4'", "'=u8'", "'|O'",
                "'<M8[s]'",
                "'<U1'", "'|V2'", "True", "False", "None", "0", "1", "2", "03", "6", "-", "+", "L", ".", "(", ")", "[",
                "{",
                "}", ",", ":", "'", "\"", "'shape'", "#", " ", "\n", "\\", "\0", "u");
        Random random = new Random(9);
        List<String> ours = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            boolean column = random.nextBoolean();
            List<String> header = new ArrayList<>(List.of("{", "'descr'", ":", tokens.get(random.nextInt(9)), ",",
                    "'fortran_order'", ":", column ? "True" : "False", ",", "'shape'", ":", "(", "2", ",", "3", ",",
                    ")", ",",
                    "}", "\n"));
            for (int changes = random.nextInt(3); changes > 0; changes--) {
                int at = random.nextInt(header.size());
                switch (random.nextInt(3)) {
                    case 0 -> header.remove(at);
                    case 1 -> header.set(at, tokens.get(random.nextInt(tokens.size())));
                    default -> header.add(at, tokens.get(random.nextInt(tokens.size())));
                }
            }
            byte[] text = String.join("", header).getBytes(StandardCharsets.ISO_8859_1);
            int data = 6 << random.nextInt(4);
            ByteBuffer file = ByteBuffer.allocate(10 + text.length + data).order(ByteOrder.LITTLE_ENDIAN)
                    .put(NpyHeader.MAGIC).put(new byte[]{1, 0}).putShort((short) text.length).put(text);
            for (int at = 0; at < data; at++) {
                file.put((byte) (at % 2));
            }
            Path path = Files.write(folder.resolve(String.format(Locale.ROOT, "%06d.npy", i)), file.array());
            try (Checkpoint c = Checkpoint.open(path, OpenOptions.defaults().format("npy"))) {
                if (!(c.state() instanceof Tensor) || c.tensor("").dtype().kind() == DType.Kind.BITS) {
                    continue;
                }
                ours.add(path.getFileName() + " " + c.tensor("").dtype().name() + " " + c.tensor("").shape() + " "
                        + HexFormat.of().formatHex(c.tensor("").copy().bytes().toArray(ValueLayout.JAVA_BYTE)));
            } catch (FormatException e) {
                // A pickle is behind the header of objects.
                assertThat(e.code()).matches("NPY-.*|TORCH-PICKLE");
            }
        }
        assertThat(python.run("""
                import numpy as np
                for line in open(sys.argv[2]):
                    name = line.split()[0]
                    a = np.load(sys.argv[1] + '/' + name, allow_pickle=False)
                    print(name, a.dtype.name, list(a.shape), a.astype(a.dtype.newbyteorder('<')).tobytes().hex())
                """, folder, Files.write(folder.resolve("list"), ours)).lines()).containsExactlyElementsOf(ours);
        assertThat(ours).hasSizeGreaterThan(80);
    }

    /// Random dtypes, records in records among them, of random shapes and orders. What is read here is printed by
    /// Python from the same file, and what is written again is the same record, byte for byte but for the byte order.
    private void randomArraysComeBack(RealPython python) throws IOException {
        Path theirs = folder.resolve("theirs.npz");
        Path alone = Files.createDirectories(folder.resolve("alone"));
        python.run(
                """
                        import numpy as np, random
                        random.seed(7)
                        rng = np.random.default_rng(7)
                        leaves = ['i1', 'i2', 'i4', 'i8', 'u1', 'u8', 'f2', 'f4', 'f8', 'c8', 'c16', '?', 'U3', 'U1',
                                  'S5', 'S1', 'M8[ns]', 'M8[25s]', 'm8[D]', 'm8', 'V3', 'g', 'G']
                        def dtype(depth):
                            kind = random.random()
                            if depth == 0 or kind < 0.6 - 0.2 * depth:
                                return np.dtype(random.choice('<>') + random.choice(leaves)) if kind < 0.9 \\
                                    else np.dtype(random.choice(leaves))
                            fields, names = [], []
                            for i in range(random.randrange(1, 5)):
                                name = random.choice(['a', 'b/c', "it's", 'q"', 'back\\\\slash', '\u00e4', '\u20ac'])
                                name += str(i)
                                names.append(name)
                                shape = random.choice([(), (), (), (2,), (2, 3), (1,), (0,)])
                                key = ('title' + str(i), name) if random.random() < 0.2 else name
                                fields.append((key, dtype(depth - 1), shape))
                            made = np.dtype(fields, align=random.random() < 0.4)
                            if random.random() < 0.3:
                                ends = [made.fields[n][1] + 3 + 2 * i for i, n in enumerate(names)]
                                size = ends[-1] + made.fields[names[-1]][0].itemsize + 5
                                made = np.dtype({'names': names, 'formats': [made.fields[n][0] for n in names],
                                                 'offsets': ends, 'itemsize': size})
                            return made
                        def fill(a):
                            if a.dtype.names is not None:
                                for name in a.dtype.names:
                                    fill(a[name])
                            elif a.dtype.kind == 'U':
                                a[...] = rng.choice(['', 'a', '\u00e4\u20ac', '\\U0001f600z'], a.shape)
                            elif a.dtype.kind == 'S':
                                a[...] = rng.choice([b'', b'a', b'bcd', b'\\xff\\xfe'], a.shape)
                            elif a.dtype.kind in 'Mm':
                                a[...] = rng.integers(-9, 9, a.shape).astype(a.dtype)
                            elif a.dtype.kind == 'V':
                                a[...] = np.frombuffer(rng.bytes(a.dtype.itemsize), a.dtype)[0]
                            else:
                                a[...] = rng.integers(0, 2, a.shape).astype(a.dtype)
                        arrays = {}
                        for i in range(400):
                            d = dtype(2 if i % 2 else 0)
                            shape = random.choice([(), (1,), (4,), (2, 3), (0,), (3, 0), (1, 5), (2, 2, 2)])
                            a = np.zeros(shape, d, order=random.choice('CF'))
                            fill(a)
                            arrays['r%03d' % i] = a
                        np.savez(sys.argv[1], **arrays)
                        np.savez_compressed(sys.argv[1].replace('theirs', 'small'), **arrays)
                        for name, a in arrays.items():
                            np.save(sys.argv[2] + '/' + name + '.npy', a)
                        """,
                theirs, alone);
        String compare = """
                import numpy as np
                def same(a, b, where):
                    assert a.shape == b.shape, (where, a.shape, b.shape)
                    if a.dtype.names is not None:
                        assert a.dtype.names == b.dtype.names and a.dtype.itemsize == b.dtype.itemsize, where
                        for n in a.dtype.names:
                            assert a.dtype.fields[n][1:] == b.dtype.fields[n][1:], (where, n)
                            same(a[n], b[n], where + '/' + n)
                    else:
                        assert a.dtype == b.dtype.newbyteorder(a.dtype.byteorder), (where, a.dtype, b.dtype)
                        # NumPy 2.4 does not swap times without a unit that are not aligned.
                        if a.dtype.kind in 'Mm':
                            a = a.copy().view(a.dtype.byteorder + 'i8')
                            b = b.copy().view('<i8')
                        assert a.dtype.kind == 'V' or a.astype(b.dtype).tobytes() == b.tobytes(), where
                        assert a.dtype.kind != 'V' or a.tobytes() == b.tobytes(), where
                x, y = np.load(sys.argv[1], allow_pickle=True), np.load(sys.argv[2], allow_pickle=True)
                assert x.files == y.files
                for name in x.files:
                    same(x[name], y[name], name)
                    assert x[name].flags.f_contiguous == y[name].flags.f_contiguous, name
                print(len(x.files))
                """;
        for (Path source : List.of(theirs, folder.resolve("small.npz"))) {
            Path ours = folder.resolve("ours.npz");
            Path croft = folder.resolve("ours.croft");
            try (Checkpoint c = Checkpoint.open(source)) {
                assertThat(c.verify().damages()).isEmpty();
                Checkpoint.save(ours, c.state());
                Checkpoint.save(croft, c.state());
            }
            assertThat(python.run(compare, source, ours)).isEqualToIgnoringWhitespace("400");
            try (Checkpoint c = Checkpoint.open(croft)) {
                Checkpoint.save(ours, c.state());
            }
            assertThat(python.run(compare, source, ours)).isEqualToIgnoringWhitespace("400");
        }
        int same = 0;
        for (int i = 0; i < 400; i++) {
            Path path = alone.resolve(String.format(Locale.ROOT, "r%03d.npy", i));
            Path back = folder.resolve("back.npy");
            try (Checkpoint c = Checkpoint.open(path)) {
                Checkpoint.save(back, c.state());
            }
            byte[] bytes = Files.readAllBytes(path);
            String header = new String(bytes, 0, Math.min(bytes.length, 4000), StandardCharsets.ISO_8859_1);
            if (!header.substring(0, header.indexOf('\n')).contains("'>")) {
                assertThat(Files.readAllBytes(back)).as(header).isEqualTo(bytes);
                same++;
            }
        }
        assertThat(same).isGreaterThan(100);
    }
}
