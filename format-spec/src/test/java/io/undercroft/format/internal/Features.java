package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/// Files that have what the golden one has not: other files, free ranges, shared and coded bytes, an index of many
/// blocks.
final class Features {
    static final UUID OTHER_ID = UUID.fromString("0f1e2d3c-4b5a-8697-8877-665544332211");

    private Features() {}

    /// A storage in a snapshot of another `.croft` file, one in a foreign file, and one in this.
    static FileImage basedOnOthers() {
        FileImage image = new FileImage();
        IndexBuilder index = image.index();
        int croft = index.addBase(croft("models/first.croft", 3));
        int foreign = index.addBase(foreign("model.safetensors"));
        image.addStorage((byte) 1, (byte) 2, (byte) 3);
        index.addBaseExtent(croft, FileLayout.DATA_START + 64, 8, sums(new byte[8]));
        index.addStorage("cpu");
        index.addBaseExtent(foreign, 11, 5, sums(new byte[5]));
        index.addStorage("cpu");
        return image;
    }

    static BaseRecord croft(String path, int depth) {
        return new BaseRecord(BaseKind.CROFT, path, depth, OTHER_ID, new Digest128(7, 8), 200_000, 2);
    }

    static BaseRecord foreign(String path) {
        return BaseRecord.foreign(path, new Digest128(9, 10), 1000);
    }

    /// Two storages that are the same bytes.
    static FileImage shared() {
        FileImage image = new FileImage();
        byte[] bytes = {1, 2, 3, 4};
        image.addStorage(bytes);
        image.index().addRawExtent(FileLayout.DATA_START, bytes.length, sums(bytes));
        image.index().addStorage("cpu");
        return image;
    }

    /// An index with every section, that of block checksums included.
    static FileImage everySection() {
        FileImage image = basedOnOthers();
        IndexBuilder index = image.index();
        addCoded(image);
        int dtype = index.addDType(new DTypeRecord("int8", 8));
        index.addTensor(new TensorRecord(dtype, 0, 2, EnumSet.of(TensorFlag.REVERSED), new long[]{3}, new long[]{-1}));
        for (int i = 0; i < 1500; i++) {
            index.addName("name " + i, index.addTensor(new TensorRecord(dtype, 0, 0, Set.of(), new long[]{3},
                    new long[]{1})));
        }
        image.addFreeRange(100);
        return image;
    }

    /// Storages of 256 bytes: one as it is, one coded against it, and one coded alone.
    static FileImage coded() {
        FileImage image = new FileImage();
        byte[] plain = new byte[256];
        new Random(7).nextBytes(plain);
        image.addStorage(plain);
        byte[] near = plain.clone();
        near[100] ^= 3;
        image.add(image.putCoded(4, near, ExtentRecord.THIS_FILE, FileLayout.DATA_START, plain));
        image.index().addStorage("cpu");
        byte[] alone = new byte[256];
        for (int i = 0; i < alone.length; i += 2) {
            alone[i] = plain[i];
        }
        image.add(image.putCoded(2, alone));
        image.index().addStorage("cpu");
        return image;
    }

    /// Coded storages: one with a reference in a foreign file, one with a reference in this file and coded bytes in
    /// another, and one alone.
    private static void addCoded(FileImage image) {
        byte[] bytes = new byte[240];
        byte[] reference = new byte[240];
        Arrays.fill(reference, (byte) 1);
        image.add(image.putCoded(2, bytes, 2, 7, reference));
        image.index().addStorage("cpu");
        long place = image.put(reference.length, reference);
        byte[] coded = coded(4, bytes, reference);
        image.index().addCodedExtent(1, FileLayout.DATA_START + 128, bytes.length, sums(bytes),
                coding(4, coded, ExtentRecord.THIS_FILE, place, true));
        image.index().addStorage("cpu");
        image.add(image.putCoded(8, reference));
        image.index().addStorage("cpu");
    }

    /// {@return the coded bytes of an extent}
    static byte[] coded(int width, byte[] bytes, byte @Nullable [] reference) {
        try (Coder coder = Coder.open()) {
            return coder.code(MemorySegment.ofArray(bytes), width,
                    reference == null ? null : MemorySegment.ofArray(reference)).toArray(ValueLayout.JAVA_BYTE);
        }
    }

    /// {@return how these coded bytes are decoded}
    static Coding coding(int width, byte[] coded, int base, long offset, boolean hasReference) {
        return new Coding(hasReference ? Coding.DIFFERENCE : Coding.PLANES, width, coded.length,
                Checksums.crc32c(MemorySegment.ofArray(coded)), base, offset);
    }

    static ExtentSums sums(byte... bytes) {
        ExtentDigester digester = new ExtentDigester();
        digester.update(MemorySegment.ofArray(bytes));
        return digester.finish();
    }
}
