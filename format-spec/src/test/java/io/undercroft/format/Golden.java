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
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
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
        index.addName("model/wte.weight", weight);
        index.addName("model/lm_head.weight", weight);
        int transposed = index.addTensor(new TensorRecord(float32, tied, 4, Set.of(), new long[]{3, 3},
                new long[]{1, 4}));
        index.addName("model/größe", transposed);
        index.addName("sparse", index.addTensor(tensor(float32, large, 65536, 0, Set.of(), 20)));
        index.addName("nibbles", index.addTensor(tensor(int4, packed, 0, 4, Set.of(), 4)));
        index.addName("", index.addTensor(tensor(float32, empty, 0, 0, EnumSet.of(TensorFlag.NEGATIVE), 0, 7)));
        int scalar = index.addTensor(tensor(float32, tied, 44, 0, Set.of()));

        index.setTree(tree(weight, scalar, large, float32));
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

    /// One of every token, and a list that holds itself.
    private static byte[] tree(int weight, int scalar, int storage, int dtype) {
        StateTreeWriter tree = new StateTreeWriter();
        int root = tree.openMap(5);
        tree.writeString("scalars");
        tree.openTuple(7);
        tree.writeNull();
        tree.writeBoolean(true);
        tree.writeInteger(300);
        tree.writeInteger(-1);
        tree.writeInteger(BigInteger.ONE.shiftLeft(64));
        tree.writeFloat(0.5);
        tree.writeComplex(1, -2);
        tree.writeString("tensors");
        tree.openList(7);
        tree.writeTensor(weight);
        tree.writeTensor(scalar);
        tree.writeStorage(storage);
        tree.writeTypedStorage(storage, dtype);
        tree.writeDType(dtype);
        tree.writeDevice("cuda:0");
        tree.writeShape(3, 300);
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

    private static byte[] ascending(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return bytes;
    }

    /// {@return the header, the commit record and the index, byte by byte with what each field means}
    static String dump() throws IOException {
        MemorySegment file = MemorySegment.ofArray(file());
        Snapshot snapshot = Snapshot.open(ByteSource.of(file), Limits.DEFAULT);
        CommitRecord commit = snapshot.commit();
        long slot = Layout.slotOffset(commit.sequence());
        return "Header\n\n" + dump(0, out -> MetadataEncoder.write(out, snapshot.header(), crc(file, 0)))
                + "\nCommit record\n\n" + dump(slot, out -> MetadataEncoder.write(out, commit, crc(file, slot)))
                + "\nIndex\n\n" + dump(commit.indexOffset(), out -> image().index().encoder().write(out, 1));
    }

    private static int crc(MemorySegment file, long page) {
        return file.get(ValueLayout.JAVA_INT_UNALIGNED, page + Layout.PAGE - 4);
    }

    private static String dump(long offset, Consumer<Bytes<?>> writer) {
        HexDumpBytes out = new HexDumpBytes();
        out.offsetFormat((at, to) -> to.append(String.format("%05x ", offset + at)));
        out.numberWrap(16);
        writer.accept(out);
        return elide(out.toHexString().lines().toList());
    }

    /// Three dots stand for lines of zeros after the first of them.
    private static String elide(List<String> lines) {
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
