package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import io.undercroft.format.internal.index.SectionType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SequencedMap;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/// The golden files: what each shows is said in section 19 of `SPEC.md`. Places, tables and ids are those of section
/// 12, but where a file shows what no writer of this version makes.
final class GoldenFiles {
    private static final DTypeRecord FLOAT32 = new DTypeRecord("float32", 32);
    private static final DTypeRecord BFLOAT16 = new DTypeRecord("bfloat16", 16);
    private static final DTypeRecord UINT8 = new DTypeRecord("uint8", 8);
    private static final int CHUNK = 1 << FileImage.CHUNK_LOG2;
    private static final int FUTURE_MINOR = 9;
    private static final long FUTURE_FEATURE = 32;
    /// What appended snapshots have in their metadata: the number of the commit.
    private static final String COMMIT = "undercroft.commit";

    private GoldenFiles() {}

    /// {@return all files by their names, made anew}
    static SortedMap<String, byte[]> all() throws IOException {
        SortedMap<String, byte[]> files = new TreeMap<>();
        files.put("everything.croft", Everything.file());
        byte[] snapshots = snapshots();
        byte[] sealed = weights(ascending(48), ascending(20)).toSealedByteArray();
        files.put("snapshots.croft", snapshots);
        files.put("torn.croft", torn());
        files.put("dedup.croft", dedup());
        files.put("based.croft", based(snapshots));
        byte[] safetensors = safetensors();
        files.put("foreign.safetensors", safetensors);
        files.put("foreign.croft", foreign(safetensors));
        files.put("coded.croft", coded(safetensors));
        files.put("sealed.croft", sealed);
        files.put("large-index.croft", largeIndex());
        files.put("future.croft", future());
        files.put("numbers.croft", numbers());
        files.put("set.croftset", SetManifest.canonical(List.of(Shard.of("sealed.croft", Refusals.newest(sealed)),
                Shard.of("snapshots.croft", second(snapshots))), Optional.empty()).encode());
        files.put("slices-0.croft", slices(0));
        files.put("slices-1.croft", slices(1));
        files.put("slices.croftset", SetManifest.canonical(
                List.of(Shard.of("slices-0.croft", Refusals.newest(files.get("slices-0.croft"))),
                        Shard.of("slices-1.croft", Refusals.newest(files.get("slices-1.croft")))),
                Optional.of(sliced())).encode());
        return files;
    }

    private static CommitRecord second(byte[] snapshots) throws IOException {
        return Refusals.open(snapshots).openAt(2).commit();
    }

    /// Two storages: one of a weight under two names, one of a bias.
    private static FileImage weights(byte[] weight, byte[] bias) {
        FileImage image = new FileImage();
        image.addStorage(weight);
        image.addStorage(bias);
        return named(image);
    }

    private static FileImage named(FileImage image) {
        IndexBuilder index = image.index();
        int float32 = index.addDType(FLOAT32);
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        tensors.put("embed", index.addTensor(tensor(float32, 0, 0, 0, Set.of(), 3, 4)));
        tensors.put("bias", index.addTensor(tensor(float32, 1, 0, 0, Set.of(), 5)));
        tensors.put("head", 0);
        name(index, tensors);
        return image;
    }

    /// A bias changes from the first snapshot to the second, which has a message; the third is like the second.
    private static byte[] snapshots() {
        byte[] weight = ascending(48);
        byte[] first = weights(weight, ascending(20)).toByteArray();
        FileImage changed = FileImage.after(first);
        changed.addRawExtentAt(FileLayout.DATA_START, weight);
        changed.index().addStorage("cpu");
        byte[] bias = descending(20);
        long place = changed.put(bias.length, bias);
        changed.addRawExtentAt(place, bias);
        changed.index().addStorage("cpu");
        changed.index().putMetadata(COMMIT, "2");
        FileImage unchanged = FileImage.after(named(changed).toByteArray("step 2000: the bias was trained"));
        unchanged.addRawExtentAt(FileLayout.DATA_START, weight);
        unchanged.index().addStorage("cpu");
        unchanged.addRawExtentAt(place, bias);
        unchanged.index().addStorage("cpu");
        unchanged.index().putMetadata(COMMIT, "3");
        return named(unchanged).toByteArray();
    }

    private static byte[] torn() {
        byte[] weight = ascending(48);
        byte[] first = weights(weight, ascending(20)).toByteArray();
        byte[] tail = FileImage.torn(first, 300);
        FileImage next = FileImage.after(tail);
        FileImage.tail(tail).forEach(next.index()::addFreeRange);
        next.addRawExtentAt(FileLayout.DATA_START, weight);
        next.index().addStorage("cpu");
        next.addStorage(descending(20));
        next.index().putMetadata(COMMIT, "2");
        return named(next).toByteArray();
    }

    /// Two small storages are equal, two large ones too, and a third has its first chunk in common with these; its
    /// second is elsewhere.
    private static byte[] dedup() {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        byte[] small = ascending(24);
        byte[] chunk = ascending(CHUNK);
        byte[][] ends = {ascending(80), descending(80), ascending(80)};
        long placeOfSmall = image.put(small.length, small);
        long placeOfChunk = image.put(CHUNK + 80L, chunk);
        long first = image.put(CHUNK + 80L, ends[0]);
        long second = image.put(CHUNK + 80L, ends[1]);
        long[] places = {first, second, first};
        int uint8 = index.addDType(UINT8);
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        for (int i = 0; i < ends.length; i++) {
            image.addRawExtentAt(placeOfChunk, chunk);
            image.addRawExtentAt(places[i], ends[i]);
            int storage = index.addStorage("cpu");
            tensors.put("large " + i, index.addTensor(tensor(uint8, storage, 0, 0, Set.of(), CHUNK + 80)));
        }
        for (int i = 0; i < 2; i++) {
            image.addRawExtentAt(placeOfSmall, small);
            int storage = index.addStorage("cpu");
            tensors.put("small " + i, index.addTensor(tensor(uint8, storage, 0, 0, Set.of(), 24)));
        }
        name(index, tensors);
        return image.toByteArray();
    }

    private static byte[] based(byte[] snapshots) throws IOException {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        Snapshot second = Refusals.open(snapshots).openAt(2);
        int base = index.addBase(BaseRecord.croft("snapshots.croft", 0, second.commit()));
        byte[][] bytes = {ascending(48), descending(20)};
        for (int i = 0; i < bytes.length; i++) {
            index.addBaseExtent(base, second.extent(i).fileOffset(), bytes[i].length, Features.sums(bytes[i]));
            index.addStorage("cpu");
        }
        int own = image.addStorage(ascending(8));
        int float32 = index.addDType(FLOAT32);
        int uint8 = index.addDType(UINT8);
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        tensors.put("embed", index.addTensor(tensor(float32, 0, 0, 0, Set.of(), 3, 4)));
        tensors.put("bias", index.addTensor(tensor(float32, 1, 0, 0, Set.of(), 5)));
        tensors.put("own", index.addTensor(tensor(uint8, own, 0, 0, Set.of(), 8)));
        name(index, tensors);
        return image.toByteArray();
    }

    private static byte[] safetensors() {
        byte[] header = """
                {"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},\
                "bias":{"dtype":"U8","shape":[5],"data_offsets":[24,29]}}\s""".getBytes(StandardCharsets.US_ASCII);
        byte[] file = new byte[8 + header.length + 29];
        file[0] = (byte) header.length;
        System.arraycopy(header, 0, file, 8, header.length);
        System.arraycopy(ascending(29), 0, file, 8 + header.length, 29);
        return file;
    }

    private static byte[] foreign(byte[] safetensors) {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int base = index.addBase(BaseRecord.foreign("foreign.safetensors",
                Digest128.of(MemorySegment.ofArray(safetensors)), safetensors.length));
        int data = safetensors.length - 29;
        adopt(index, base, safetensors, data, 24);
        adopt(index, base, safetensors, data + 24, 5);
        int float32 = index.addDType(FLOAT32);
        int uint8 = index.addDType(UINT8);
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        tensors.put("weight", index.addTensor(tensor(float32, 0, 0, 0, Set.of(), 2, 3)));
        tensors.put("bias", index.addTensor(tensor(uint8, 1, 0, 0, Set.of(), 5)));
        name(index, tensors);
        return image.toByteArray();
    }

    /// A chunk of float32 as it is; a storage whose first chunk is coded against it, and whose second is short and
    /// coded alone; a chunk of bfloat16 coded alone; and a few bytes coded against those of the weight in another file.
    /// In the second snapshot, the first chunk of the second storage is another one.
    private static byte[] coded(byte[] safetensors) throws IOException {
        byte[] base = floats(1, null, CHUNK / 4);
        byte[] short4 = floats(2, null, 1000);
        byte[] half = bfloats(3, CHUNK / 2);
        FileImage image = new FileImage();
        byte[] weight = Arrays.copyOfRange(safetensors, safetensors.length - 29, safetensors.length - 5);
        byte[] near = weight.clone();
        near[7] ^= 1;
        int foreign = image.index()
                .addBase(BaseRecord.foreign("foreign.safetensors", Digest128.of(MemorySegment.ofArray(safetensors)),
                        safetensors.length));
        ExtentRecord few = image.putCoded(1, near, foreign, safetensors.length - 29, weight);
        long place = image.put(CHUNK, base);
        image.addRawExtentAt(place, base);
        image.index().addStorage("cpu");
        byte[] tuned = floats(4, base, CHUNK / 4);
        image.add(image.putCoded(4, tuned, ExtentRecord.THIS_FILE, place, base));
        image.add(image.putCoded(4, short4));
        image.index().addStorage("cpu");
        image.add(image.putCoded(2, half));
        image.index().addStorage("cpu");
        image.add(few);
        image.index().addStorage("cpu");
        byte[] first = namedCoded(image).toByteArray();

        Snapshot before = Refusals.open(first);
        FileImage next = FileImage.after(first);
        next.index().addBase(before.base(0));
        next.addRawExtentAt(place, base);
        next.index().addStorage("cpu");
        next.add(next.putCoded(4, floats(5, tuned, CHUNK / 4), ExtentRecord.THIS_FILE, place, base));
        next.add(before.extent(2));
        next.index().addStorage("cpu");
        for (int extent = 3; extent < before.extentCount(); extent++) {
            next.add(before.extent(extent));
            next.index().addStorage("cpu");
        }
        next.index().putMetadata(COMMIT, "2");
        return namedCoded(next).toByteArray();
    }

    private static FileImage namedCoded(FileImage image) {
        IndexBuilder index = image.index();
        int float32 = index.addDType(FLOAT32);
        int bfloat16 = index.addDType(BFLOAT16);
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        tensors.put("base", index.addTensor(tensor(float32, 0, 0, 0, Set.of(), CHUNK / 4)));
        tensors.put("tuned", index.addTensor(tensor(float32, 1, 0, 0, Set.of(), CHUNK / 4 + 1000)));
        tensors.put("half", index.addTensor(tensor(bfloat16, 2, 0, 0, Set.of(), CHUNK / 2)));
        tensors.put("weight", index.addTensor(tensor(float32, 3, 0, 0, Set.of(), 2, 3)));
        name(index, tensors);
        return image;
    }

    /// {@return weights as of a new layer, or such that differ from others a little}
    private static byte[] floats(long seed, byte @Nullable [] others, int count) {
        Random random = new Random(seed);
        ByteBuffer bytes = ByteBuffer.allocate(4 * count).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            float other = others == null
                    ? 0
                    : ByteBuffer.wrap(others).order(ByteOrder.LITTLE_ENDIAN).getFloat(4 * i);
            bytes.putFloat((float) (other + random.nextGaussian() * (others == null ? 0.02 : 0.00005)));
        }
        return bytes.array();
    }

    private static byte[] bfloats(long seed, int count) {
        byte[] floats = floats(seed, null, count);
        byte[] bytes = new byte[2 * count];
        for (int i = 0; i < count; i++) {
            System.arraycopy(floats, 4 * i + 2, bytes, 2 * i, 2);
        }
        return bytes;
    }

    private static void adopt(IndexBuilder index, int base, byte[] file, int offset, int length) {
        index.addBaseExtent(base, offset, length, Features.sums(Arrays.copyOfRange(file, offset, offset + length)));
        index.addStorage("cpu");
    }

    private static byte[] largeIndex() {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int storage = image.addStorage(ascending(64));
        int uint8 = index.addDType(UINT8);
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        for (int i = 0; i < 1400; i++) {
            tensors.put("layer " + i, index.addTensor(tensor(uint8, storage, i % 60, 0, Set.of(), 4)));
        }
        name(index, tensors);
        return image.toByteArray();
    }

    private static byte[] future() throws IOException {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int storage = image.addStorage(ascending(36));
        int blocks = index.addDType(new DTypeRecord("gguf.q4_0", 144));
        SequencedMap<String, Integer> tensors = new LinkedHashMap<>();
        tensors.put("blocks", index.addTensor(tensor(blocks, storage, 0, 0, Set.of(), 2)));
        name(index, tensors);
        byte[] file = Future.of(image.toByteArray(), EnumSet.of(SectionType.EXTN, SectionType.STOR, SectionType.TENS,
                SectionType.NAMS, SectionType.STRS, SectionType.DTYP), Future.UNSAFE, Future.SAFE);
        Header header = Refusals.header(file);
        FileImage.put(file, 0, new Header(FUTURE_MINOR, header.uuid(), 0, 0, FUTURE_FEATURE, header.chunkLog2(),
                header.dataStart(), header.slots()).encode());
        return file;
    }

    /// Keys and values of every width, the keys in the names of tensors.
    private static byte[] numbers() {
        FileImage image = new FileImage();
        image.addStorage(ascending(8));
        image.addStorage(descending(8));
        IndexBuilder index = image.index();
        int tensor = index.addTensor(tensor(index.addDType(UINT8), 0, 0, 0, Set.of(), 8));
        List.of("-1", "300", "-70000", "float").forEach(name -> index.addName(name, tensor));
        int other = index.addTensor(tensor(index.addDType(UINT8), 1, 0, 0, Set.of(), 8));
        index.addName("floats/1", other);
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(6);
        tree.writeInt8((byte) -1);
        tree.writeTensor(tensor);
        tree.writeInt16((short) 300);
        tree.writeTensor(tensor);
        tree.writeInt32(-70_000);
        tree.writeTensor(tensor);
        tree.writeFloat32(0.1f);
        tree.writeTensor(tensor);
        tree.writeFloat(0.1);
        tree.writeInt16(Short.MIN_VALUE);
        tree.writeString("floats");
        tree.openList(2);
        tree.writeFloat32(Float.intBitsToFloat(0x7FC0_1234));
        tree.writeTensor(other);
        index.setTree(tree.toByteArray());
        index.putMetadata("title", "numbers of every width");
        return image.toByteArray();
    }

    /// One of two shards. A weight of [3, 4] is cut between its second and third row; a bias is in both and stored in
    /// the second.
    private static byte[] slices(int shard) {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int float32 = index.addDType(FLOAT32);
        int rows = 2 - shard;
        image.addStorage(Arrays.copyOfRange(ascending(48), shard * 32, shard * 32 + rows * 16));
        if (shard == 1) {
            image.addStorage(descending(20));
        } else {
            index.addZeroExtent(20);
            index.addStorage("meta");
        }
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(2);
        int weight = index.addTensor(tensor(float32, 0, 0, 0, Set.of(), rows, 4));
        index.addName("weight", weight);
        tree.writeString("weight");
        tree.openObject("undercroft.Slice");
        tree.writeTensor(weight);
        tree.openMap(2);
        writeSlice(tree, new long[]{3, 4}, 2L * shard, 0);
        int bias = index.addTensor(tensor(float32, 1, 0, 0, Set.of(), 5));
        index.addName("bias", bias);
        tree.writeString("bias");
        tree.openObject("undercroft.Slice");
        tree.writeTensor(bias);
        tree.openMap(4);
        writeSlice(tree, new long[]{5}, 0);
        tree.writeString("replica");
        tree.writeInteger(shard);
        tree.writeString("replicas");
        tree.writeInteger(2);
        index.setTree(tree.toByteArray());
        index.putMetadata("undercroft.run", "run 7");
        index.putMetadata("undercroft.shards", "2");
        return image.toByteArray();
    }

    private static void writeSlice(StateTreeWriter tree, long[] shape, long... offset) {
        tree.writeString("shape");
        tree.writeShape(shape);
        tree.writeString("offset");
        tree.writeShape(offset);
    }

    private static SetIndex sliced() {
        return SetIndex.of("run 7", List.of(
                SlicedTensor.of("weight", FLOAT32, new long[]{3, 4},
                        List.of(new SlicePart(0, new long[]{0, 0}, new long[]{2, 4}),
                                new SlicePart(1, new long[]{2, 0}, new long[]{1, 4}))),
                SlicedTensor.of("bias", FLOAT32, new long[]{5},
                        List.of(new SlicePart(1, new long[]{0}, new long[]{5})))));
    }

    /// Names tensors, and makes the state a map of them.
    private static void name(IndexBuilder index, SequencedMap<String, Integer> tensors) {
        tensors.forEach(index::addName);
        StateTreeWriter tree = new StateTreeWriter();
        tree.openMap(tensors.size());
        writeTensors(tree, tensors);
        index.setTree(tree.toByteArray());
    }

    static void writeTensors(StateTreeWriter tree, Map<String, Integer> tensors) {
        tensors.forEach((key, tensor) -> {
            tree.writeString(key);
            tree.writeTensor(tensor);
        });
    }

    /// A contiguous tensor.
    static TensorRecord tensor(int dtype, int storage, long byteOffset, int bitOffset, Set<TensorFlag> flags,
            long... shape) {
        long[] stride = new long[shape.length];
        long step = 1;
        for (int dim = shape.length - 1; dim >= 0; dim--) {
            stride[dim] = step;
            step *= Math.max(1, shape[dim]);
        }
        return new TensorRecord(dtype, storage, byteOffset, bitOffset, flags, shape, stride);
    }

    static byte[] ascending(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return bytes;
    }

    private static byte[] descending(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (length - i);
        }
        return bytes;
    }
}
