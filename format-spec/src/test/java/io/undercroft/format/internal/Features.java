package io.undercroft.format.internal;

import io.undercroft.format.Digest128;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import java.util.UUID;

/// Files that have what the golden one has not: other files, free ranges, shared bytes, an index of many blocks.
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
        int dtype = index.addDType(new DTypeRecord("int8", 8));
        index.addTensor(new TensorRecord(dtype, 0, 2, EnumSet.of(TensorFlag.REVERSED), new long[]{3}, new long[]{-1}));
        for (int i = 0; i < 1500; i++) {
            index.addName("name " + i, index.addTensor(new TensorRecord(dtype, 0, 0, Set.of(), new long[]{3},
                    new long[]{1})));
        }
        image.addFreeRange(100);
        return image;
    }

    static ExtentSums sums(byte... bytes) {
        ExtentDigester digester = new ExtentDigester();
        digester.update(MemorySegment.ofArray(bytes));
        return digester.finish();
    }
}
