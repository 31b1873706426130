package io.undercroft.mmap;

import io.undercroft.storage.Storage;
import java.io.IOException;

/// The other process: makes two shared storages and ends without freeing them.
final class ForgetfulPeer {
    private ForgetfulPeer() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws IOException {
        Storage named = FileStorage.openSharedMemory(args[0], ByteRange.bytes(1000));
        Storage fresh = Storage.allocate(1000, SharedMemory.allocator());
        System.out.println(ProcessHandle.current().pid());
        named.set(0, (byte) System.in.read());
        fresh.copyFrom(named);
    }
}
