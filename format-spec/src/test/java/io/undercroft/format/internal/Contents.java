package io.undercroft.format.internal;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedMap;
import java.util.stream.Collectors;

/// What files hold, in lines that any other reader can be held against: for each snapshot its storages with the SHA-256
/// of their bytes, wherever these are, and its tensors by name. Fields are separated by tabs.
final class Contents {
    private final SortedMap<String, byte[]> files;
    private final List<String> lines = new ArrayList<>();

    private Contents(SortedMap<String, byte[]> files) {
        this.files = files;
    }

    /// {@return the contents of all `.croft` and `.croftset` files among some; their bases are among them too}
    static String of(SortedMap<String, byte[]> files) throws IOException {
        Contents contents = new Contents(files);
        for (String name : files.keySet()) {
            if (name.endsWith(".croft")) {
                contents.addFile(name);
            } else if (name.endsWith(".croftset")) {
                contents.addSet(name);
            }
        }
        return String.join("\n", contents.lines) + '\n';
    }

    private void addSet(String name) throws IOException {
        SetManifest set = SetManifest.read(source(name), Limits.DEFAULT);
        for (int i = 0; i < set.shards().size(); i++) {
            Shard shard = set.shards().get(i);
            add(name, "shard", i, shard.path(),
                    shard.open(source(shard.path()), Limits.DEFAULT).commit().sequence());
        }
        set.index().ifPresent(index -> index.tensors().values().forEach(
                tensor -> tensor.parts(set.shards()).forEach(part -> add(name, index.run(), tensor.name(),
                        tensor.dtype().name(), tensor.dtype().bits(), Arrays.toString(tensor.shape()), part.shard(),
                        Arrays.toString(part.offset()), Arrays.toString(part.size())))));
    }

    private void addFile(String name) throws IOException {
        Snapshot newest = Snapshot.open(source(name), Limits.DEFAULT);
        for (long sequence = 1; sequence <= newest.commit().sequence(); sequence++) {
            addSnapshot(name, newest.openAt(sequence));
        }
    }

    private void addSnapshot(String file, Snapshot snapshot) throws IOException {
        long sequence = snapshot.commit().sequence();
        add(file, sequence, "snapshot", snapshot.commit().message());
        for (int number = 0; number < snapshot.storageCount(); number++) {
            StorageRecord storage = snapshot.storage(number);
            add(file, sequence, "storage", number, storage.device(), storage.nbytes(),
                    sha256(file, snapshot, storage));
        }
        for (int name = 0; name < snapshot.nameCount(); name++) {
            TensorRecord tensor = snapshot.tensor(snapshot.tensorOfName(name));
            DTypeRecord dtype = snapshot.dtype(tensor.dtype());
            add(file, sequence, "tensor", snapshot.name(name), dtype.name(), dtype.bits(),
                    Arrays.toString(tensor.shape()), Arrays.toString(tensor.stride()), tensor.storage(),
                    tensor.byteOffset(), tensor.bitOffset());
        }
    }

    private void add(Object... fields) {
        lines.add(Arrays.stream(fields).map(Object::toString).collect(Collectors.joining("\t")));
    }

    private String sha256(String file, Snapshot snapshot, StorageRecord storage) throws IOException {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (int i = 0; i < storage.extentCount(); i++) {
                digest.update(bytes(file, snapshot, snapshot.extent(storage.firstExtent() + i)));
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every platform has SHA-256", e);
        }
    }

    private byte[] bytes(String file, Snapshot snapshot, ExtentRecord extent) throws IOException {
        if (extent.kind() == ExtentKind.ZERO) {
            return new byte[(int) extent.length()];
        }
        ByteSource holder = holder(file, snapshot, extent.base());
        byte[] bytes = new byte[(int) extent.length()];
        Coding coding = extent.coding();
        if (coding == null) {
            holder.read(extent.fileOffset(), MemorySegment.ofArray(bytes));
            return bytes;
        }
        ByteSource reference = holder(file, snapshot, coding.referenceBase());
        try (Coder coder = Coder.open()) {
            coder.decode(coding, coded -> holder.read(extent.fileOffset(), coded),
                    into -> reference.read(coding.referenceOffset(), into), MemorySegment.ofArray(bytes),
                    extent.fileOffset());
        }
        return bytes;
    }

    private ByteSource holder(String file, Snapshot snapshot, int base) {
        return source(base == ExtentRecord.THIS_FILE ? file : snapshot.base(base - 1).path());
    }

    private ByteSource source(String name) {
        return ByteSource.of(MemorySegment.ofArray(files.get(name)));
    }
}
