package io.undercroft.serializer;

import io.undercroft.mmap.AnonymousMemory;
import io.undercroft.storage.DType;
import io.undercroft.storage.Shape;
import io.undercroft.storage.Storage;
import io.undercroft.storage.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/// A process that ends while it saves: by coming to its end, or by `System.exit`.
final class PendingSavePeer {
    private PendingSavePeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        Storage storage = Storage.allocate(16 << 20, AnonymousMemory.freezableAllocator()).fill((byte) 7);
        PendingSave save = Checkpoint.saveAsync(Path.of(args[0]),
                Map.of("a", Tensor.of(storage, DType.UINT8, 0, Shape.of(storage.nbytes()), 1)));
        storage.fill((byte) 8);
        System.out.println(save.isDone());
        if (args[1].equals("exit")) {
            System.exit(0);
        }
    }
}
