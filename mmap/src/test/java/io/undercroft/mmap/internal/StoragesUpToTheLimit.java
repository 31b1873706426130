package io.undercroft.mmap.internal;

import io.undercroft.storage.Storage;
import java.util.ArrayList;
import java.util.List;

/// Run in a JVM of its own: allocates storages until one is refused, and then drops many.
final class StoragesUpToTheLimit {
    private static final long NBYTES = 8 << 20;

    private StoragesUpToTheLimit() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) {
        List<Storage> storages = new ArrayList<>();
        try {
            while (true) {
                storages.add(Storage.allocate(NBYTES));
            }
        } catch (OutOfMemoryError e) {
            System.out.println(storages.size());
            System.out.println("refused: " + e.getMessage());
        }
        storages.clear();
        for (int i = 0; i < 50; i++) {
            Storage.allocate(NBYTES).segment().fill((byte) 1);
        }
        System.out.println("many were dropped");
    }
}
