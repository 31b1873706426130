package io.undercroft.format;

import io.undercroft.format.internal.MetadataEncoder;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.HexDumpBytes;

/// The golden vector: a small file that has one of everything, and its annotated dump.
///
/// `main`, run in the folder of this module, writes both anew and puts the dump into `SPEC.md`; the tests only compare.
final class Golden {
    static final String FILE = "golden/everything.croft";
    static final String DUMP = "golden/everything.txt";

    private static final Path SPEC = Path.of("SPEC.md");
    private static final String FENCE = "```text\n";

    private Golden() {}

    public static void main(String[] unused) throws IOException {
        Path resources = Path.of("src/test/resources");
        Files.write(resources.resolve(FILE), file());
        Files.writeString(resources.resolve(DUMP), dump());
        String before = spec().substring(0, spec().indexOf(FENCE) + FENCE.length());
        String after = spec().substring(spec().indexOf("```\n", before.length()));
        Files.writeString(SPEC, before + dump() + after);
    }

    static byte[] resource(String name) {
        try (InputStream in = Golden.class.getResourceAsStream("/" + name)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static byte[] file() {
        return image().toByteArray();
    }

    static FileImage image() {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int float32 = index.addDType(new DTypeRecord("float32", 32));
        int int4 = index.addDType(new DTypeRecord("int4", 4));

        index.addZeroExtent(65536);
        image.addRawExtent(65536 + 80, ascending(80));
        int large = index.addStorage("cuda:0");
        int tied = image.addStorage(ascending(48));
        int packed = image.addStorage((byte) 0x21, (byte) 0x43, (byte) 0x05);
        int empty = index.addStorage("cpu");

        int weight = index.addTensor(tensor(float32, tied, 0, 0, EnumSet.of(TensorFlag.REQUIRES_GRAD), 3, 4));
        int transposed = index.addTensor(new TensorRecord(float32, tied, 4, Set.of(), new long[]{3, 3},
                new long[]{1, 4}));
        int sparse = index.addTensor(tensor(float32, large, 65536, 0, Set.of(), 20));
        int nibbles = index.addTensor(tensor(int4, packed, 0, 4, Set.of(), 4));
        int nothing = index.addTensor(tensor(float32, empty, 0, 0, EnumSet.of(TensorFlag.NEGATIVE), 0, 7));
        index.addTensor(tensor(float32, tied, 44, 0, Set.of())); // in no tree, and so without a name

        SequencedMap<String, Integer> model = new LinkedHashMap<>();
        model.put("wte.weight", weight);
        model.put("lm_head.weight", weight);
        model.put("größe", transposed);
        SequencedMap<String, Integer> others = new LinkedHashMap<>();
        others.put("sparse", sparse);
        others.put("nibbles", nibbles);
        others.put("", nothing);
        model.forEach((name, tensor) -> index.addName("model/" + name, tensor));
        others.forEach(index::addName);
        index.setTree(tree(model, others, large, float32));
        index.putMetadata("title", "everything");
        index.putMetadata("made by", "Undercroft");
        return image;
    }

    private static TensorRecord tensor(int dtype, int storage, long byteOffset, int bitOffset, Set<TensorFlag> flags,
            long... shape) {
        long[] stride = new long[shape.length];
        long step = 1;
        for (int dim = shape.length - 1; dim >= 0; dim--) {
            stride[dim] = step;
            step *= Math.max(1, shape[dim]);
        }
        return new TensorRecord(dtype, storage, byteOffset, bitOffset, flags, shape, stride);
    }

    /// One of every token, and a map that holds itself.
    private static byte[] tree(Map<String, Integer> model, Map<String, Integer> others, int storage, int dtype) {
        StateTreeWriter tree = new StateTreeWriter();
        int root = tree.openMap(6 + others.size());
        tree.writeString("scalars");
        tree.openTuple(7);
        tree.writeNull();
        tree.writeBoolean(true);
        tree.writeInteger(300);
        tree.writeInteger(-1);
        tree.writeInteger(BigInteger.ONE.shiftLeft(64));
        tree.writeFloat(0.5);
        tree.writeComplex(1, -2);
        tree.writeString("values");
        tree.openList(5);
        tree.writeStorage(storage);
        tree.writeTypedStorage(storage, dtype);
        tree.writeDType(dtype);
        tree.writeDevice("cuda:0");
        tree.writeShape(3, 300);
        tree.writeString("model");
        tree.openMap(model.size());
        writeTensors(tree, model);
        writeTensors(tree, others);
        tree.writeInteger(7);
        tree.openSet(2);
        tree.writeSymbol("torch.per_tensor_affine");
        tree.writeBoolean(false);
        tree.writeBytes(MemorySegment.ofArray(new byte[]{1, 2, 3}));
        tree.openObject("collections.OrderedDict");
        tree.openMap(0);
        tree.openMap(1);
        tree.writeString("_metadata");
        tree.writeNull();
        tree.writeString("self");
        tree.writeReference(root);
        return tree.toByteArray();
    }

    private static void writeTensors(StateTreeWriter tree, Map<String, Integer> tensors) {
        tensors.forEach((key, tensor) -> {
            tree.writeString(key);
            tree.writeTensor(tensor);
        });
    }

    private static byte[] ascending(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return bytes;
    }

    /// {@return the header, the commit record and the index, byte by byte with what each field means}
    static String dump() throws IOException {
        return dump(file(), image().index(), Golden::elided);
    }

    /// {@return the lines of such a dump of any file of one commit, none left out}
    static List<String> dumpLines(byte[] file, IndexBuilder index) throws IOException {
        return dump(file, index, lines -> String.join("\n", lines) + '\n').lines().toList();
    }

    private static String dump(byte[] bytes, IndexBuilder index, Function<List<String>, String> shown)
            throws IOException {
        MemorySegment file = MemorySegment.ofArray(bytes);
        Snapshot snapshot = Snapshot.open(ByteSource.of(file), Limits.DEFAULT);
        CommitRecord commit = snapshot.commit();
        long slot = snapshot.place();
        List<String> header = lines(0, out -> MetadataEncoder.write(out, snapshot.header(), crc(file, 0)));
        List<String> record = lines(slot, out -> MetadataEncoder.write(out, commit, crc(file, slot)));
        List<String> tables = lines(commit.indexOffset(), out -> index.encoder().write(out, commit.sequence()));
        return "Header\n\n" + shown.apply(header) + "\nCommit record\n\n" + shown.apply(record) + "\nIndex\n\n"
                + shown.apply(tables);
    }

    private static int crc(MemorySegment file, long page) {
        return file.get(ValueLayout.JAVA_INT_UNALIGNED, page + Layout.PAGE - 4);
    }

    private static List<String> lines(long offset, Consumer<Bytes<?>> writer) {
        HexDumpBytes out = new HexDumpBytes();
        out.offsetFormat((at, to) -> to.append(String.format("%05x ", offset + at)));
        out.numberWrap(16);
        writer.accept(out);
        return out.toHexString().lines().toList();
    }

    /// Three dots stand for lines of zeros after the first of them.
    private static String elided(List<String> lines) {
        StringBuilder text = new StringBuilder();
        int zeros = 0;
        for (String line : lines) {
            zeros = line.matches("[0-9a-f]{5}( 00){16} # .*") ? zeros + 1 : 0;
            if (zeros < 2) {
                text.append(line.stripTrailing()).append('\n');
            } else if (zeros == 2) {
                text.append("...\n");
            }
        }
        return text.toString();
    }

    /// {@return the text of the specification}
    static String spec() throws IOException {
        return Files.readString(SPEC);
    }
}
