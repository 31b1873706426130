package io.undercroft.format.internal;

import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;

/// The golden file that has one of everything in a single snapshot, with canonical bytes.
final class Everything {
    private Everything() {}

    static byte[] file() {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int float32 = index.addDType(new DTypeRecord("float32", 32));
        int int4 = index.addDType(new DTypeRecord("int4", 4));

        byte[] shared = GoldenFiles.ascending(48);
        byte[] few = {0x21, 0x43, 0x05};
        byte[] last = GoldenFiles.ascending(80);
        // Small storages are before large ones, whatever their numbers.
        long placeOfShared = image.put(shared.length, shared);
        long placeOfFew = image.put(few.length, few);
        index.addZeroExtent(65536);
        image.addRawExtent(65536 + last.length, last);
        int large = index.addStorage("cuda:0");
        image.addRawExtentAt(placeOfShared, shared);
        int tied = index.addStorage("cpu");
        image.addRawExtentAt(placeOfFew, few);
        int packed = index.addStorage("cpu");
        int empty = index.addStorage("cpu");

        int weight = index
                .addTensor(GoldenFiles.tensor(float32, tied, 0, 0, EnumSet.of(TensorFlag.REQUIRES_GRAD), 3, 4));
        int transposed = index.addTensor(new TensorRecord(float32, tied, 4, Set.of(), new long[]{3, 3},
                new long[]{1, 4}));
        int sparse = index.addTensor(GoldenFiles.tensor(float32, large, 65536, 0, Set.of(), 20));
        int nibbles = index.addTensor(GoldenFiles.tensor(int4, packed, 0, 4, Set.of(), 4));
        int nothing = index.addTensor(GoldenFiles.tensor(float32, empty, 0, 0, EnumSet.of(TensorFlag.NEGATIVE), 0, 7));

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
        return image.toByteArray();
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
        GoldenFiles.writeTensors(tree, model);
        GoldenFiles.writeTensors(tree, others);
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
}
