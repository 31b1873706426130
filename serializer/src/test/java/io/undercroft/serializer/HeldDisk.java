package io.undercroft.serializer;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;

/// The disk of this computer, which takes its time: nothing is brought to it until it is released.
final class HeldDisk extends ForwardingDisk {
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    /// Waits until all was written, and is to be brought to the disk.
    void awaitForce() throws InterruptedException {
        reached.await();
    }

    void letGo() {
        released.countDown();
    }

    @Override
    void before(Operation operation) throws IOException {
        if (operation != Operation.FORCE) {
            return;
        }
        reached.countDown();
        try {
            released.await();
        } catch (InterruptedException e) {
            throw new IOException(e);
        }
    }
}
