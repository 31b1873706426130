package io.undercroft.format.internal;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;

/// Reads all records and the state tree of a file.
final class WholeRead {
    private WholeRead() {}

    static void of(byte[] file) throws IOException {
        ByteSource source = ByteSource.of(MemorySegment.ofArray(file));
        Snapshot snapshot = Snapshot.open(source, Limits.DEFAULT);
        Verifier.verify(source, snapshot, BaseFiles.none());
        IntStream.range(0, snapshot.storageCount()).forEach(snapshot::storage);
        IntStream.range(0, snapshot.extentCount()).forEach(snapshot::extent);
        IntStream.range(0, snapshot.tensorCount()).forEach(snapshot::tensor);
        IntStream.range(0, snapshot.dtypeCount()).forEach(snapshot::dtype);
        IntStream.range(0, snapshot.nameCount()).forEach(name -> snapshot.findTensor(snapshot.name(name)));
        snapshot.metadata();
        StateTreeReader tree = snapshot.tree();
        StateToken token;
        do {
            token = tree.next();
        } while (token != StateToken.DONE);
    }
}
